"""Answers questions: queries of services (`qry`), and reports and requests of workers (`rpt`, `wrq`), distributed over replicas."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

import orjson
import structlog
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from pydantic import BaseModel, ValidationError

from shared import telemetry
from shared.bus import envelope as headers
from shared.bus.connection import Bus
from shared.errors import Broken, MusterError, Rejected, Transient
from shared.ids import SITE, TenantId, WorkerId
from shared.messages.base import Query, WorkerRequest
from shared.telemetry import metrics

MAX_REPLY_BYTES = 512 * 1024
INBOXES = "_INBOX"
_DRAIN_S = 3.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The asker: a tenant's service request, or a worker, authenticated by the subject. `deadline_s`: how long the asker waits."""

    tenant: TenantId
    worker: WorkerId
    deadline_s: float


Answer = Callable[[RequestContext, Any], Awaitable[BaseModel]]
Question = type[Query[Any]] | type[WorkerRequest[Any]]


class Responder:
    """Subscribes one queue group per question type and answers each question in its own task, at most `limit` at once.

    Args:
        group: Queue group that shares the questions; default: the owner's replicas.
    """

    def __init__(
        self,
        bus: Bus,
        owner: str,
        answers: Mapping[Question, Answer],
        limit: int = 64,
        group: str | None = None,
    ) -> None:
        self._bus = bus
        self._owner = owner
        self._answers = answers
        self._group = group or owner
        self._free = asyncio.Semaphore(limit)
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Subscription] = []

    async def __aenter__(self) -> Self:
        for question, answer in self._answers.items():
            self._subscriptions.append(
                await self._bus.subscribe(
                    _subject(question),
                    self._receiver(question, answer),
                    queue=self._group,
                )
            )
        await self._bus.flush()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Accept no further questions and answer those received: no other replica has them."""
        await asyncio.gather(*(_drain(self._bus, subscription) for subscription in self._subscriptions))
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def _receiver(self, question: Question, answer: Answer) -> Callable[[Msg], Awaitable[None]]:
        async def receive(message: Msg) -> None:
            if message.reply and not message.reply.startswith(INBOXES):
                # The server allows replies to any subject: a worker must not direct ours to a work subject.
                _log.warning(
                    "a question was dropped: its reply subject is not an inbox", subject=message.subject
                )
                return
            await self._free.acquire()
            task = asyncio.create_task(self._respond(question, answer, message))
            self._tasks.add(task)
            task.add_done_callback(self._done)

        return receive

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._free.release()

    async def _respond(self, question: Question, answer: Answer, message: Msg) -> None:
        found = message.headers or {}
        with (
            _span(question, found),
            metrics.observed(self._owner, question.TYPE),
        ):
            try:
                reply = await self._answer(question, answer, message, found)
                payload = reply.__pydantic_serializer__.to_json(reply)
                if len(payload) > MAX_REPLY_BYTES * 2:
                    raise Rejected(
                        "reply_too_large",
                        f"the answer has {len(payload)} bytes, more than the {MAX_REPLY_BYTES * 2} allowed; request fewer items at once",
                    )
                await message.respond(payload)
            except MusterError as error:
                await _refuse(message, error)
            except Exception as error:  # noqa: BLE001 - an answer may fail in any way
                _log.exception("a question failed", question=question.TYPE)
                await _refuse(
                    message,
                    Broken(f"{self._owner} failed on {question.TYPE}: {type(error).__name__}"),
                )

    async def _answer(
        self, question: Question, answer: Answer, message: Msg, found: Mapping[str, str]
    ) -> BaseModel:
        deadline_s = int(found.get(headers.DEADLINE, "5000")) / 1000
        ask = RequestContext(_tenant(found), _worker(question, message.subject), deadline_s)
        try:
            query = question.from_bytes(message.data)
        except ValidationError as error:
            raise Rejected(
                "bad_request",
                f"{question.TYPE} cannot be parsed: {error.error_count()} invalid fields",
            ) from error
        try:
            async with asyncio.timeout(deadline_s):
                return await answer(ask, query)
        except TimeoutError as error:
            raise Transient(f"{question.TYPE} took longer than {deadline_s:g} s", code="timeout") from error


def _span(question: Question, found: Mapping[str, str]) -> contextlib.AbstractContextManager[object]:
    """Return the span of a request; none for untraced periodic requests such as heartbeats, which would dominate the traces."""
    if issubclass(question, WorkerRequest) and not question.IS_TRACED and not telemetry.is_traced(found):
        return contextlib.nullcontext()
    return telemetry.span(f"answer {question.TYPE}", parent=found)


def _subject(question: Question) -> str:
    return question.subject("*") if issubclass(question, WorkerRequest) else question.subject()


def _tenant(found: Mapping[str, str]) -> TenantId:
    text = found.get(headers.TENANT)
    return TenantId(UUID(text)) if text else SITE


def _worker(question: Question, subject: str) -> WorkerId:
    return WorkerId(subject.split(".")[2] if issubclass(question, WorkerRequest) else "")


async def _drain(bus: Bus, subscription: Subscription) -> None:
    """End a subscription after its pending messages. Always removes it: a remaining one would be renewed at the next reconnect."""
    try:
        if not bus.connected:
            await subscription.unsubscribe()
            return
        async with asyncio.timeout(_DRAIN_S):
            await subscription.drain()  # type: ignore[no-untyped-call]
    except (NatsError, OSError, TimeoutError) as error:
        _log.debug("a subscription was not drained", error=repr(error))
        bus.client._remove_sub(subscription._id)


async def _refuse(message: Msg, error: MusterError) -> None:
    if not message.reply:
        return
    problem = orjson.dumps(error.to_problem()).decode().replace("\n", " ")
    # Errors travel in a header, which `respond` does not support. A lost connection needs no reply.
    with contextlib.suppress(NatsError):
        await message._client.publish(message.reply, b"", headers={headers.ERROR: problem})
