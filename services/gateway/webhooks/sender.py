"""Sends the deliveries of webhooks. Replicas share the work, a slow receiver does not delay others, and failed deliveries are retried until they are dead."""

import asyncio
import random
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import Row

from services.gateway.platform.encryption import unseal
from services.gateway.settings import WebhookSection
from services.gateway.webhooks import delivery_store as store
from services.gateway.webhooks.bodies import render_body
from services.gateway.webhooks.core import (
    DeliveryAttempt,
    DeliveryOutcome,
    RetryPolicy,
    choose_webhooks,
    outcome_of,
)
from services.gateway.webhooks.posting import WebhookPoster
from services.gateway.webhooks.signing import sign
from shared.clock import Clock
from shared.database.engine import Database
from shared.errors import Broken, MusterError
from shared.runtime.cancelling import wait_until_ended
from shared.runtime.loops import repeat
from shared.telemetry import metrics

EVERY = timedelta(seconds=30)
"""Longest delay until the deliveries of a stopped replica are found. Other deliveries are found when they are due."""
_AGAIN_S = 1.0
AT_ONCE = 4
"""Maximum concurrent requests to one webhook."""
LANES, LANES_OF_TENANT = 64, 16
"""Maximum number of webhooks served concurrently, of all tenants and of one tenant."""
_LEASE_MARGIN_S = 20.0
_END_S = 3.0
_log = structlog.get_logger()


class WebhookSender:
    """The delivery loop of one replica. Each lane is a task that sends a few deliveries to one webhook."""

    def __init__(
        self,
        database: Database,
        poster: WebhookPoster,
        key: bytes,
        clock: Clock,
        settings: WebhookSection,
    ) -> None:
        self._database = database
        self._poster = poster
        self._key = key
        self._clock = clock
        self._retry_policy = RetryPolicy(
            timedelta(seconds=settings.initial_backoff_s),
            timedelta(seconds=settings.max_backoff_s),
            timedelta(seconds=settings.give_up_after_s),
        )
        self._lease = timedelta(seconds=settings.timeout_s + _LEASE_MARGIN_S)
        self._random = random.Random()
        self._due = asyncio.Event()
        self._stopping = asyncio.Event()
        self._lanes: dict[UUID, tuple[UUID, asyncio.Task[None]]] = {}

    def wake(self) -> None:
        """Look for due deliveries now. A commit wakes only the replica that made it."""
        self._due.set()

    async def run(self) -> None:
        """Run until `stop`. Deliveries that are still in progress then are sent again when their lease expires."""
        looking = asyncio.create_task(repeat(self._look, EVERY, self._due))
        try:
            await self._stopping.wait()
        finally:
            looking.cancel()
            lanes = {task for _, task in self._lanes.values()}
            if lanes and self._stopping.is_set():
                await asyncio.wait(lanes, timeout=_END_S)
            for task in lanes:
                task.cancel()
            await wait_until_ended({looking, *lanes})

    async def stop(self) -> None:
        """Stop starting new deliveries."""
        self._stopping.set()

    async def _look(self) -> timedelta | None:
        """Start lanes for webhooks with due deliveries. Return the time until the next delivery is due."""
        now = self._clock.now()
        async with self._database.system() as connection:
            waiting, next_at = await store.find_waiting(connection, now)
        running = {webhook: tenant for webhook, (tenant, _) in self._lanes.items()}
        for webhook, tenant in choose_webhooks(waiting, running, LANES, LANES_OF_TENANT):
            task = asyncio.create_task(self._lane(webhook))
            self._lanes[webhook] = tenant, task
            task.add_done_callback(lambda _, webhook=webhook: self._leave(webhook))  # type: ignore[misc]
        return next_at - now if next_at is not None else None

    def _leave(self, webhook: UUID) -> None:
        self._lanes.pop(webhook, None)
        self.wake()

    async def _lane(self, webhook: UUID) -> None:
        try:
            async with self._database.system() as connection:
                taken = await store.take(connection, webhook, self._clock.now(), self._lease, AT_ONCE)
            await asyncio.gather(*map(self._deliver, taken))
        except MusterError as error:
            # The delivery is due again when the lease expires.
            _log.warning("webhook deliveries failed", webhook=str(webhook), error=str(error))
            await asyncio.sleep(_AGAIN_S)
        except Exception:  # noqa: BLE001 - one lane must not end the others
            _log.exception("webhook deliveries failed unexpectedly", webhook=str(webhook))
            await asyncio.sleep(_AGAIN_S)

    async def _deliver(self, taken: Row[Any]) -> None:
        began_s = self._clock.monotonic()
        attempt = await self._attempt(taken)
        now = self._clock.now()
        tried = taken.attempts - taken.previous_attempts
        outcome = outcome_of(
            attempt,
            tried,
            taken.series_started_at,
            now,
            self._retry_policy,
            self._random.random(),
        )
        if taken.is_test and outcome.state == "waiting":
            outcome = DeliveryOutcome("dead")
        async with self._database.system() as connection:
            is_ours = await store.save_outcome(connection, taken, attempt, outcome, now)
            if is_ours and attempt.is_unwanted:
                await store.disable_webhook(connection, taken.webhook)
        metrics.observe("gateway", "webhook", outcome.state, self._clock.monotonic() - began_s)
        if outcome.state != "delivered":
            _log.info(
                "webhook delivery failed", webhook=str(taken.webhook), delivery=str(taken.id),
                attempt=tried, status=attempt.status, error=attempt.error, state=outcome.state,
            )  # fmt: skip

    async def _attempt(self, taken: Row[Any]) -> DeliveryAttempt:
        now = self._clock.now()
        context = taken.webhook.bytes
        sealed: list[Any] = [taken.secret]
        if taken.previous_secret_until is not None and taken.previous_secret_until > now:
            sealed.append(taken.previous_secret)
        try:
            url = unseal(self._key, context + b"url", taken.url)
            secrets = [unseal(self._key, context + b"secret", one) for one in sealed]
        except Broken:
            return DeliveryAttempt(
                error="the stored URL and secret cannot be decrypted; set the URL and rotate the secret"
            )
        media_type, body = render_body(taken.form, taken.event)
        headers = sign(secrets, str(taken.id), int(now.timestamp()), body)
        headers |= {"Content-Type": media_type, "User-Agent": "Muster-Webhooks/1"}
        return await self._poster.post(url, headers, body)
