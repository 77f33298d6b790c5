"""The decision journal of a search, and its replay to check that the search decides the same again."""

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
    """Return the experiment's decisions in order, starting after position `after`, at most `limit`."""

    experiment_id: ExperimentId
    after: int = 0
    limit: int = 500


class ReplayDifference(BaseModel):
    """The first decision that differs in a replay: as recorded, as recomputed, and both as a sentence (`summary`)."""

    position: int
    kind: str
    recorded: dict[str, JsonValue]
    recomputed: dict[str, JsonValue]
    summary: str


class Replayed(BaseModel):
    """Result of a replay: the first `checked` of `decisions` were recomputed. Without a `difference` they were equal."""

    decisions: int
    checked: int
    difference: ReplayDifference | None = None


class ReplayExperiment(Query[Replayed], owner="searcher", name="replay"):
    """Recompute an experiment's search from its journal. Decisions not reached before the deadline stay unchecked."""

    experiment_id: ExperimentId
