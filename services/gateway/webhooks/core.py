"""Webhook logic: event names, filters, CloudEvents and the retries of failed deliveries. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Literal
from uuid import UUID

from pydantic import JsonValue

from shared.errors import Rejected
from shared.ids import derived_id

PREFIX = "com.muster."
TEST_EVENT = "webhook.tested"
EVENTS: dict[str, str] = {
    "experiment.active": "the experiment started, or resumed after a pause",
    "experiment.paused": "the experiment is paused",
    "experiment.stopping": "the experiment's trials were asked to stop",
    "experiment.completed": "the experiment's search is complete",
    "experiment.error": "the experiment failed",
    "experiment.cancelled": "the experiment was cancelled or killed",
    "experiment.rejected": "the experiment cannot run",
    "experiment.deleting": "the experiment is being deleted",
    "experiment.deleted": "the experiment was deleted",
    "trial.queued": "a trial waits for slots",
    "trial.running": "a trial is training",
    "trial.parked": "a trial waits for its search to resume it",
    "trial.stopping": "a trial was asked to stop, or data of its last run is still being stored",
    "trial.completed": "a trial trained to its end",
    "trial.stopped": "the search stopped a trial early",
    "trial.error": "a trial failed and is not retried",
    "trial.cancelled": "a trial was cancelled",
    "run.granted": "a run got its slots",
    "run.resized": "a run got more or fewer slots",
    "run.ended": "a run ended; the event contains the outcome",
    "checkpoint.saved": "a checkpoint was stored completely",
    "checkpoint.abandoned": "an announced checkpoint will not be stored",
    "checkpoint.corrupt": "a stored checkpoint can no longer be read",
    "checkpoint.deleted": "a checkpoint was deleted",
    "model.created": "a model was registered",
    "model.changed": "a model's description, tags or aliases changed",
    "model.deleted": "a model was deleted",
    "version.created": "a version was added to a model",
    "version.changed": "a version's description or tags changed",
    "version.staged": "a version moved to another stage",
    "version.deleted": "a version was deleted",
    "budget.warned": "80% of a monthly budget is spent",
    "budget.spent": "a monthly budget is spent; no new work that costs money starts",
}
"""Event names without `PREFIX`, and when each is sent. Released names are never removed."""
NAMED_BY_STATE = frozenset({"experiment", "trial"})
REMOVED = "deleted"
MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class EventContext:
    """The workspace, project, labels and experiment that an event belongs to."""

    workspace: str
    project: str | None = None
    labels: tuple[str, ...] = ()
    experiment: UUID | None = None
    number: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """A change in the tenant's feed. If `context` is None, the origin is unknown and webhooks with a scope or labels do not match."""

    name: str
    position: int
    entity: UUID
    resource: JsonValue
    context: EventContext | None


@dataclass(frozen=True, slots=True)
class Subscription:
    """The filters of a webhook. Empty filters match everything."""

    id: UUID
    events: frozenset[str]
    workspace: str | None
    project: str | None
    labels: frozenset[str]

    def matches(self, happening: FeedEvent) -> bool:
        """True if the event matches all filters."""
        kind = happening.name.partition(".")[0]
        if self.events and not self.events & {happening.name, f"{kind}.*"}:
            return False
        context = happening.context
        if context is None:
            return self.workspace is None and not self.labels
        if self.workspace is not None and self.workspace != context.workspace:
            return False
        if self.project is not None and self.project != context.project:
            return False
        return not self.labels or bool(self.labels & set(context.labels))


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery to create. Its id is derived from webhook and event, so repeats have no effect."""

    id: UUID
    webhook: UUID
    name: str
    position: int
    event: dict[str, JsonValue]


def event_name(kind: str, change: str, before: str | None, now: str) -> str | None:
    """Return the event name of a change, or None if webhooks do not get it.

    Args:
        before: the previous state or stage; None if the entity was not known.
        now: the state of an experiment or trial; the stage of a model or version, or `REMOVED`. Experiments and trials have events only for changes of state.
    """
    if kind in NAMED_BY_STATE:
        return None if before == now else f"{kind}.{now}"
    if kind not in ("model", "version"):
        return f"{kind}.{change}"
    if before is None:
        return f"{kind}.created"
    if before == now:
        return f"{kind}.changed"
    return f"{kind}.deleted" if now == REMOVED else f"{kind}.staged"


def read_events(names: Sequence[str]) -> list[str]:
    """Normalize event names and patterns such as `experiment.*`: without prefix and duplicates. Raises Rejected for unknown names."""
    known = [*EVENTS, *sorted({f"{name.partition('.')[0]}.*" for name in EVENTS})]
    found = dict.fromkeys(name.removeprefix(PREFIX) for name in names)
    for name in found:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"events: {', '.join(known)}"
            raise Rejected("unknown_event", f"unknown event {name!r}", "events", hint)
    return list(found)


def plan_intents(
    tenant: UUID, now: datetime, listeners: Sequence[Subscription], happenings: Sequence[FeedEvent]
) -> list[NewDelivery]:
    """Return the deliveries to create, by webhook and then in the order of the feed."""
    return [
        NewDelivery(
            derived_id(listener.id, "delivery", happening.position),
            listener.id,
            happening.name,
            happening.position,
            cloud_event(tenant, now, happening),
        )
        for listener in listeners
        for happening in happenings
        if listener.matches(happening)
    ]


def cloud_event(tenant: UUID, now: datetime, happening: FeedEvent) -> dict[str, JsonValue]:
    """Return the event in CloudEvents 1.0 format. Its id is its position in the feed, unique within `source`."""
    context = happening.context
    experiment: JsonValue = None
    if context is not None and context.experiment is not None:
        experiment = {"id": str(context.experiment), "number": context.number, "name": context.name}
    return {
        "specversion": "1.0",
        "id": str(happening.position),
        "source": f"urn:muster:tenant:{tenant}",
        "type": PREFIX + happening.name,
        "subject": f"{happening.name.partition('.')[0]}/{happening.entity}",
        "time": now.isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": {
            "workspace": context.workspace if context else None,
            "project": context.project if context else None,
            "labels": list(context.labels) if context else [],
            "experiment": experiment,
            "resource": happening.resource,
        },
    }


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Pauses between attempts, and how long a delivery is retried."""

    initial_backoff: timedelta
    max_backoff: timedelta
    give_up_after: timedelta


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """The result of one attempt: the status of the answer, and the error if it failed."""

    status: int | None = None
    error: str | None = None
    retry_after: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        """True for a 2xx status."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_unwanted(self) -> bool:
        """True if the receiver answered 410 Gone."""
        return self.status == 410


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The state of a delivery after an attempt; `due_at` is the time of the next attempt."""

    state: Literal["waiting", "delivered", "dead"]
    due_at: datetime | None = None


def outcome_of(
    attempt: DeliveryAttempt,
    attempts: int,
    series_started_at: datetime,
    now: datetime,
    retry_policy: RetryPolicy,
    draw: float,
) -> DeliveryOutcome:
    """Return the state of a delivery after an attempt.

    Args:
        attempts: number of attempts in this series, including this one.
        draw: uniform in [0, 1), for jitter: pauses double with each attempt and vary by ±50%.
    """
    if attempt.succeeded:
        return DeliveryOutcome("delivered")
    pause = min(retry_policy.initial_backoff * 2 ** min(attempts - 1, 30), retry_policy.max_backoff) * (
        0.5 + draw
    )
    if attempt.retry_after is not None:
        pause = max(pause, min(attempt.retry_after, retry_policy.max_backoff))
    if attempt.is_unwanted or now + pause - series_started_at > retry_policy.give_up_after:
        return DeliveryOutcome("dead")
    return DeliveryOutcome("waiting", now + pause)


def choose_webhooks(
    waiting: Sequence[tuple[UUID, UUID]], running: Mapping[UUID, UUID], most: int, max_per_tenant: int
) -> list[tuple[UUID, UUID]]:
    """Choose the webhooks to serve next among the waiting (webhook, tenant) pairs, longest waiting first, without exceeding the limits in total and per tenant."""
    of_tenant: dict[UUID, int] = {}
    for tenant in running.values():
        of_tenant[tenant] = of_tenant.get(tenant, 0) + 1
    chosen: list[tuple[UUID, UUID]] = []
    for webhook, tenant in waiting:
        if len(running) + len(chosen) >= most:
            break
        if webhook in running or of_tenant.get(tenant, 0) >= max_per_tenant:
            continue
        of_tenant[tenant] = of_tenant.get(tenant, 0) + 1
        chosen.append((webhook, tenant))
    return chosen
