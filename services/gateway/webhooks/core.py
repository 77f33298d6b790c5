"""What webhooks are told: names of events, who hears which, their form as CloudEvents, and when a failed delivery is tried again."""

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
    "experiment.active": "it began, or goes on after a pause",
    "experiment.paused": "it is paused",
    "experiment.stopping": "its trials are asked to end",
    "experiment.completed": "its search is over",
    "experiment.error": "it failed",
    "experiment.cancelled": "it was cancelled or killed",
    "experiment.rejected": "it turned out impossible",
    "experiment.deleting": "it is being deleted",
    "experiment.deleted": "it is gone",
    "trial.queued": "a trial waits for slots",
    "trial.running": "a trial trains",
    "trial.parked": "a trial waits for its search to go on with it",
    "trial.stopping": "a trial is asked to end, or what its last run announced is still being stored",
    "trial.completed": "a trial trained to its end",
    "trial.stopped": "a trial was ended early by its search",
    "trial.error": "a trial failed for good",
    "trial.cancelled": "a trial was cancelled",
    "run.granted": "an attempt to train was given slots",
    "run.resized": "an attempt has more or fewer slots",
    "run.ended": "an attempt is over, and why",
    "checkpoint.saved": "a checkpoint is stored whole",
    "checkpoint.abandoned": "a checkpoint that was announced will not come",
    "checkpoint.corrupt": "a stored checkpoint can no longer be read",
    "checkpoint.deleted": "a checkpoint is gone",
    "model.created": "a model was registered",
    "model.changed": "a model's words, tags or aliases changed",
    "model.deleted": "a model is gone",
    "version.created": "a version was added to a model",
    "version.changed": "a version's words or tags changed",
    "version.staged": "a version came to another stage",
    "version.deleted": "a version is gone",
    "budget.warned": "four fifths of a month's budget are spent",
    "budget.spent": "a month's budget is spent, and nothing more that costs begins",
}
"""Without `PREFIX`, with when each is sent. Names are only added."""
NAMED_BY_STATE = frozenset({"experiment", "trial"})
REMOVED = "deleted"
MOST_TEXT = 500


@dataclass(frozen=True, slots=True)
class EventContext:
    """Where something happened: the experiment, for what came of one, and the place that it belongs to."""

    workspace: str
    project: str | None = None
    labels: tuple[str, ...] = ()
    experiment: UUID | None = None
    number: int | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """A change in the tenant's feed; `scene` is None where nobody knows it, and then no narrowed webhook is told."""

    name: str
    position: int
    entity: UUID
    resource: JsonValue
    scene: EventContext | None


@dataclass(frozen=True, slots=True)
class Subscription:
    """A webhook, as far as it says what it hears; what is empty narrows nothing."""

    id: UUID
    events: frozenset[str]
    workspace: str | None
    project: str | None
    labels: frozenset[str]

    def hears(self, happening: FeedEvent) -> bool:
        """True for what it asked for, at its place."""
        kind = happening.name.partition(".")[0]
        if self.events and not self.events & {happening.name, f"{kind}.*"}:
            return False
        scene = happening.scene
        if scene is None:
            return self.workspace is None and not self.labels
        if self.workspace is not None and self.workspace != scene.workspace:
            return False
        if self.project is not None and self.project != scene.project:
            return False
        return not self.labels or bool(self.labels & set(scene.labels))


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """One event that one webhook is to be sent; the same cause gives the same id."""

    id: UUID
    webhook: UUID
    name: str
    position: int
    event: dict[str, JsonValue]


def event_name(kind: str, change: str, before: str | None, now: str) -> str | None:
    """What a change of an entity is called, by its standing before (None: it was not known) and now; None for one that is not told.

    Experiments and trials change all the time and are told by state; models and versions stand in a stage or are `REMOVED`.
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
    """The names of events, or `experiment.*` for all of a kind, without prefix and repetition. Raises Rejected for another."""
    known = [*EVENTS, *sorted({f"{name.partition('.')[0]}.*" for name in EVENTS})]
    found = dict.fromkeys(name.removeprefix(PREFIX) for name in names)
    for name in found:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise Rejected("unknown_event", f"there is no event {name!r}", "events", hint)
    return list(found)


def plan_intents(
    tenant: UUID, now: datetime, listeners: Sequence[Subscription], happenings: Sequence[FeedEvent]
) -> list[NewDelivery]:
    """What is to be sent to whom, by webhook and then in the order of the feed."""
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
        if listener.hears(happening)
    ]


def cloud_event(tenant: UUID, now: datetime, happening: FeedEvent) -> dict[str, JsonValue]:
    """The event as CloudEvents 1.0 has it; source and id name it, and the id is its position in the feed."""
    scene = happening.scene
    experiment: JsonValue = None
    if scene is not None and scene.experiment is not None:
        experiment = {"id": str(scene.experiment), "number": scene.number, "name": scene.name}
    return {
        "specversion": "1.0",
        "id": str(happening.position),
        "source": f"urn:muster:tenant:{tenant}",
        "type": PREFIX + happening.name,
        "subject": f"{happening.name.partition('.')[0]}/{happening.entity}",
        "time": now.isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "data": {
            "workspace": scene.workspace if scene else None,
            "project": scene.project if scene else None,
            "labels": list(scene.labels) if scene else [],
            "experiment": experiment,
            "resource": happening.resource,
        },
    }


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a delivery is tried, and how fast."""

    first_pause: timedelta
    longest_pause: timedelta
    give_up_after: timedelta


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """What came of one attempt: the answer's status, or why there was none."""

    status: int | None = None
    error: str | None = None
    retry_after: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        """True for an answer of the 2xx range."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_unwanted(self) -> bool:
        """True where the receiver says that there is nothing any more."""
        return self.status == 410


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """Where a delivery stands behind an attempt; `due_at` is when it is tried again."""

    state: Literal["waiting", "delivered", "dead"]
    due_at: datetime | None = None


def outcome_of(
    attempt: DeliveryAttempt,
    attempts: int,
    began_at: datetime,
    now: datetime,
    patience: RetryPolicy,
    draw: float,
) -> DeliveryOutcome:
    """What follows from an attempt.

    Args:
        attempts: how many were made this time, this one among them.
        draw: uniform in [0, 1): pauses grow twofold, and vary by half around that, so that those who failed together do not come back together.
    """
    if attempt.succeeded:
        return DeliveryOutcome("delivered")
    pause = min(patience.first_pause * 2 ** min(attempts - 1, 30), patience.longest_pause) * (0.5 + draw)
    if attempt.retry_after is not None:
        pause = max(pause, min(attempt.retry_after, patience.longest_pause))
    if attempt.is_unwanted or now + pause - began_at > patience.give_up_after:
        return DeliveryOutcome("dead")
    return DeliveryOutcome("waiting", now + pause)


def choose_webhooks(
    waiting: Sequence[tuple[UUID, UUID]], running: Mapping[UUID, UUID], most: int, most_of_tenant: int
) -> list[tuple[UUID, UUID]]:
    """Which webhooks are sent to next, of those (webhook, tenant) that something waits for, longest first: none twice, and no tenant takes all."""
    of_tenant: dict[UUID, int] = {}
    for tenant in running.values():
        of_tenant[tenant] = of_tenant.get(tenant, 0) + 1
    chosen: list[tuple[UUID, UUID]] = []
    for webhook, tenant in waiting:
        if len(running) + len(chosen) >= most:
            break
        if webhook in running or of_tenant.get(tenant, 0) >= most_of_tenant:
            continue
        of_tenant[tenant] = of_tenant.get(tenant, 0) + 1
        chosen.append((webhook, tenant))
    return chosen
