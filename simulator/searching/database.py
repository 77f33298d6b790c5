"""The searcher's simulated tables, and the searches that it keeps in memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.trial import TrialRequest
from services.searcher.core.experiment.entities import ExperimentRecord, TrialRecord
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import fold
from services.searcher.core.reducers.changes import Decision
from services.searcher.core.search.search import Search
from shared.ids import ExperimentId, TenantId, TrialId
from simulator.experiments.submission import Submission


@dataclass(slots=True)
class Row:
    """An experiment with its trials and its journal. `search` is in memory and lost with the process.
    `looked_at_ms`: the next budget check."""

    tenant: TenantId
    submission: Submission
    experiment: ExperimentRecord
    trials: dict[int, TrialRecord] = field(default_factory=dict)
    journal: list[Entry] = field(default_factory=list)
    search: Search | None = None
    looked_at_ms: int | None = None

    def loaded(self) -> Search:
        """Return the search at the end of the journal; rebuilt from the journal if memory was lost."""
        if self.search is None:
            self.search = Search(self.submission.config, self.submission.search_seed)
            fold(self.search, self.journal)
        return self.search

    def live(self) -> list[TrialRecord]:
        return [trial for trial in self.trials.values() if not trial.is_final]

    def save(self, decision: Decision) -> None:
        self.experiment = decision.experiment
        self.trials |= decision.trials
        self.journal += decision.entries


@dataclass(slots=True)
class SearcherTables:
    """All tables. `whose` finds a trial's experiment; `outbox` holds requests that are committed and not yet
    published."""

    experiments: dict[ExperimentId, Row] = field(default_factory=dict)
    whose: dict[TrialId, tuple[ExperimentId, int]] = field(default_factory=dict)
    inbox: set[str] = field(default_factory=set)
    outbox: list[tuple[TrialRequest, ExperimentPolicy]] = field(default_factory=list)

    def is_first(self, message: str) -> bool:
        """Whether a message is handled for the first time."""
        if message in self.inbox:
            return False
        self.inbox.add(message)
        return True

    def forget_memory(self) -> None:
        """Drop what is lost with the process."""
        for row in self.experiments.values():
            row.search = None

    def take_outbox(self) -> Iterable[tuple[TrialRequest, ExperimentPolicy]]:
        taken, self.outbox = self.outbox, []
        return taken
