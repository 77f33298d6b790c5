"""Runs: what the scheduler grants, how each ended, and whose reports a run's are."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.base import Event, Query
from shared.messages.specs import GangMember, Signal

RUN_DELETED = "run_deleted"
"""The code of who is asked about a run of what was deleted: nobody waits for it to come."""
RunOutcome = Literal[
    "completed",
    "stopped",
    "parked",
    "preempted",
    "cancelled",
    "killed",
    "failed",
    "lost",
]
"""How a run ended: `failed` is the user's code, `lost` is machines or the platform."""


class RunEvent(Event, key="run_id"):
    """The public state of a run; the chief is the first member. `token` fences: a later run of the trial has a higher one."""

    run_id: RunId
    trial_id: TrialId
    experiment_id: ExperimentId
    version: int
    number: int
    request: int = 1
    allocation_id: AllocationId
    token: int
    generation: int = 1
    pool: PoolName
    members: tuple[GangMember, ...]
    granted_at: datetime


class RunGranted(RunEvent, entity="run", happened="granted"):
    """scheduler → searcher, registry, gateway."""


class RunResized(RunEvent, entity="run", happened="resized"):
    """scheduler → searcher, registry, gateway: same token, a higher generation."""


class RunEnded(RunEvent, entity="run", happened="ended"):
    """scheduler → searcher, registry, gateway. `validations` and `checkpoints` count what the run announced (None: unknown, a lost run).

    `forced`: the run was ended without its consent, so its token is stale from here on, whatever the outcome is called.
    `invalid`: it failed because its script calls its hyperparameters invalid; it is not restarted. `labels`: names of the log
    policies that its output met.
    """

    ended_at: datetime
    outcome: RunOutcome
    forced: bool = False
    acknowledged: Signal | None = None
    validations: int | None = None
    checkpoints: int | None = None
    exit_code: int | None = None
    reason: str | None = None
    invalid: bool = False
    charged: bool = False
    restarts: int = 0
    labels: tuple[str, ...] = ()
    next: Literal["requeued", "closed"]


class AllocationFacts(BaseModel):
    """Whose reports a run's are: the chief's (the first of `members`) for all that the gang says as one. The members are those of all
    generations: what one has written before it left is taken. `stale`: a later token exists or the run was ended as lost or forced."""

    tenant: UUID
    experiment_id: ExperimentId
    trial_id: TrialId
    run_id: RunId
    run_number: int
    token: int
    members: tuple[WorkerId, ...]
    stale: bool = False
    code_hash: str | None = None
    start_checkpoint: UUID | None = None

    @property
    def chief(self) -> WorkerId:
        """Where rank 0 runs, in every generation of the run."""
        return self.members[0]


class GetAllocation(Query[AllocationFacts], owner="scheduler", name="allocation"):
    run_id: RunId
