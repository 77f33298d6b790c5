"""What a scheduler and a searcher say of runs, as far as the registry asks."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from muster.errors import NotFound
from shared.bus import RequestContext
from shared.clock import SystemClock
from shared.ids import DEFAULT_TENANT, CheckpointId, ExperimentId, RunId, TenantId, TrialId, WorkerId, new_id
from shared.messages.experiments import GetReferences, Referenced
from shared.messages.runs import AllocationFacts, GetAllocation

CLOCK = SystemClock()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a trial as the scheduler granted it."""

    id: RunId
    trial: TrialId
    experiment: ExperimentId
    number: int
    token: int
    tenant: TenantId = DEFAULT_TENANT
    members: tuple[WorkerId, ...] = (WorkerId("w-1"),)
    start_checkpoint: UUID | None = None
    code_hash: str | None = None

    @property
    def facts(self) -> AllocationFacts:
        return AllocationFacts(
            tenant=self.tenant,
            experiment_id=self.experiment,
            trial_id=self.trial,
            run_id=self.id,
            run_number=self.number,
            token=self.token,
            members=self.members,
            start_checkpoint=self.start_checkpoint,
            code_hash=self.code_hash,
        )


@dataclass
class Scheduler:
    """Answers `qry scheduler.allocation` from a dictionary, and `searcher.references` from a set."""

    runs: dict[RunId, Run] = field(default_factory=dict)
    asked: int = 0
    tokens: int = 0
    is_away: bool = False
    referenced: set[CheckpointId] = field(default_factory=set)

    async def on_allocation(self, ask: RequestContext, query: GetAllocation) -> AllocationFacts:
        self.asked += 1
        if self.is_away or query.run_id not in self.runs:
            raise NotFound(f"run {query.run_id}")
        return self.runs[query.run_id].facts

    async def on_references(self, ask: RequestContext, query: GetReferences) -> Referenced:
        return Referenced(checkpoints=frozenset(self.referenced & set(query.checkpoints)))

    def grant(self, before: Run | None = None, **changes: Any) -> Run:
        """A run of a new trial, or the next one of `before`'s."""
        self.tokens += 1
        known: dict[str, Any] = {
            "trial": before.trial if before else TrialId(new_id(CLOCK)),
            "experiment": before.experiment if before else ExperimentId(new_id(CLOCK)),
            "number": before.number + 1 if before else 1,
        }
        run = Run(**{"id": RunId(new_id(CLOCK)), "token": self.tokens, **known, **changes})
        self.runs[run.id] = run
        return run
