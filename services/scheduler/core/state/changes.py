"""What one event changes. Reducers return it (`draft`), `Cluster.apply` alone makes it true."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from services.scheduler.core.state.facts import Fact
from services.scheduler.core.state.indexes.elastic.records import Report
from services.scheduler.core.state.indexes.pauses import Kind
from services.scheduler.core.state.indexes.queue import Part
from services.scheduler.core.state.records.pool import Path, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.spending import Spending
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import Hold, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId


class Changes:
    """New records, and what follows from them.

    Attributes:
        parts, quotas, reservations, spending: Rules that people have changed; a reservation that is None is cancelled.
        workers: New records; `worker_rows`: those of which neighbours, and so the tables, learn something. `quiet_workers`: new records in
            which nothing differs that a plan looks at.
        holds, releases: What allocations occupy from now on, and what a run, or an allocation that belongs to none, occupies no more. A run
            with new shares occupies them by itself.
        runs, trials: New records; those in `lazy_…` may be saved with whatever is saved next.
        followed: Runs of which only the progress is new. It is known in memory only, and no plan depends on it.
        begun: Runs that hold what their shares say since then: usage is added up from it.
        lengths, pauses, reports: What was learned: how long a run held slots, how long one stood still, how an elastic trial trains.
        facts: What neighbours must learn, in order. `desired`: workers that must be sent what they should have.
    """

    __slots__ = (
        *("parts", "quotas", "reservations", "spending"),
        *("workers", "quiet_workers", "worker_rows", "holds", "releases"),
        *("runs", "lazy_runs", "followed", "begun", "trials", "lazy_trials"),
        *("lengths", "pauses", "reports", "facts", "desired"),
    )

    def __init__(self) -> None:
        self.parts: dict[ExperimentId, Part] = {}
        self.quotas: list[tuple[PoolName, Path, Quota | None]] = []
        self.reservations: list[tuple[PoolName, UUID, Reservation | None]] = []
        self.spending: Mapping[Path, Spending] | None = None
        self.workers: dict[WorkerId, Worker] = {}
        self.quiet_workers: dict[WorkerId, Worker] = {}
        self.worker_rows: dict[WorkerId, None] = {}
        self.holds: list[tuple[WorkerId, AllocationId, Hold]] = []
        self.releases: list[tuple[WorkerId, Run | AllocationId]] = []
        self.runs: dict[RunId, Run] = {}
        self.lazy_runs: set[RunId] = set()
        self.followed: dict[RunId, Run] = {}
        self.begun: list[tuple[Run, datetime]] = []
        self.trials: dict[TrialId, Trial] = {}
        self.lazy_trials: set[TrialId] = set()
        self.lengths: list[tuple[PoolName, ExperimentId, int]] = []
        self.pauses: list[tuple[ExperimentId, Kind, int]] = []
        self.reports: list[tuple[TrialId, Report]] = []
        self.facts: list[Fact] = []
        self.desired: dict[WorkerId, None] = {}
