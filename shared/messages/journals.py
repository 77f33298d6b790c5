"""What a search has decided, in order, and whether it comes out the same when it is decided again."""

from datetime import datetime

from pydantic import BaseModel, JsonValue

from shared.ids import ExperimentId
from shared.messages.base import Query, Record


class JournalEntry(Record):
    position: int
    at: datetime
    kind: str
    facts: dict[str, JsonValue]


class JournalPage(BaseModel):
    entries: tuple[JournalEntry, ...]
    next: int | None = None


class GetJournal(Query[JournalPage], owner="searcher", name="journal"):
    """The experiment's decisions in order, from `after` (exclusive), at most `limit`."""

    experiment_id: ExperimentId
    after: int = 0
    limit: int = 500


class ReplayDifference(BaseModel):
    """The first decision that comes out otherwise: what was recorded of it, what is decided now, and both in a sentence."""

    position: int
    kind: str
    recorded: dict[str, JsonValue]
    recomputed: dict[str, JsonValue]
    said: str


class Replayed(BaseModel):
    """What a replay came to: of `decisions`, the first `checked` were decided again; without a difference they came out the same."""

    decisions: int
    checked: int
    difference: ReplayDifference | None = None


class ReplayExperiment(Query[Replayed], owner="searcher", name="replay"):
    """Decides an experiment's search again from its journal; what is not done by the deadline stays unchecked."""

    experiment_id: ExperimentId
