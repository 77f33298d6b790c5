"""Runs: granted, resized and ended by the scheduler, and which allocation a run's reports belong to."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import BaseModel

from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId
from shared.messages.base import Event, Query
from shared.messages.trial_specs import GangMember, Signal

RUN_DELETED = "run_deleted"
"""Error code for a run whose experiment or tenant was deleted; the worker does not wait for it."""
WORKER_STOPPED = "the worker was stopped"
"""Reason of a run that ended because its worker was stopped on purpose, such as by `muster down`."""
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
"""How a run ended. `failed`: the user's code failed. `lost`: machines or the platform failed."""


class RunEvent(Event, key="run_id"):
    """Public state of a run. The chief is the first member. `token` is a fencing token: later runs of the trial have higher ones."""

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
    """scheduler → searcher, registry, gateway: same token, higher generation."""


class RunEnded(RunEvent, entity="run", happened="ended"):
    """scheduler → searcher, registry, gateway. `validations` and `checkpoints`: counts that the run announced (None: unknown, as for a lost run).

    `forced`: the run was ended without its consent, so its token is stale from now on, whatever the outcome. `invalid`: it failed because its
    script rejected its hyperparameters; it is not restarted. `labels`: names of the log policies that its output matched.
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
    """The workers that may report for a run. The chief (the first of `members`) reports everything that concerns the whole gang.

    `members` includes those of all generations, so that reports written before a worker left are accepted. `stale`: a later token exists, or
    the run ended as lost or forced. `holders`: the members whose ranks may still run; empty once the run has ended.
    """

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
    holders: tuple[WorkerId, ...] = ()

    @property
    def chief(self) -> WorkerId:
        """The worker of rank 0, in every generation of the run."""
        return self.members[0]


class GetAllocation(Query[AllocationFacts], owner="scheduler", name="allocation"):
    """Return the allocation of a run: its tenant, trial, token and members."""

    run_id: RunId
