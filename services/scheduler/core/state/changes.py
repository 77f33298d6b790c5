"""The changes that one event makes. Reducers return them (`draft`); only `Cluster.apply` applies them."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.scheduler.core.state.indexes.elastic.records import Report
from services.scheduler.core.state.indexes.pause_durations import Kind
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.published_events import Fact
from services.scheduler.core.state.records.pool import Path, Quota
from services.scheduler.core.state.records.reservations import Reservation
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.spending import BudgetSpending
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.core.state.records.worker import SlotHold, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TrialId, WorkerId


class SetExperimentPolicy(NamedTuple):
    """An experiment's policy was edited."""

    experiment: ExperimentId
    policy: ExperimentPolicy


class NewQuota(NamedTuple):
    """The quota of a tenant, or of one of its workspaces, in a pool; None removes it."""

    pool: PoolName
    path: Path
    quota: Quota | None


class SetReservation(NamedTuple):
    """A reservation of slots in a pool for a time window; None removes it."""

    pool: PoolName
    id: UUID
    reservation: Reservation | None


class SetSpending(NamedTuple):
    """Budget spending by holder."""

    spending: Mapping[Path, BudgetSpending]


Rule = SetExperimentPolicy | NewQuota | SetReservation | SetSpending


class Changes:
    """New records and their consequences.

    Attributes:
        rules: Policies, quotas, reservations and budget spending that changed.
        workers: New worker records. `worker_rows`: workers whose new record must be stored and published.
            `quiet_workers`: new records without a change that affects planning.
        holds: Slots that allocations occupy from now on. A run with new shares occupies them without an entry here.
        releases: Slots that a run, or an allocation without a run, releases.
        runs, trials: New records. Those in `lazy` may be saved together with the next changes.
        followed: Runs with new progress only. It is kept in memory and does not affect planning.
        usage_starts: Runs whose shares changed, with the time; slot usage is counted from it.
        held: Durations for which ended runs held their slots. `paused`: durations for which runs did not train.
            `reports`: training reports of elastic trials.
        facts: Events to publish, in order. `desired`: workers whose desired set must be sent.
    """

    __slots__ = (
        *("rules", "workers", "quiet_workers", "worker_rows", "holds", "releases"),
        *("runs", "followed", "usage_starts", "trials", "lazy"),
        *("held", "paused", "reports", "facts", "desired"),
    )

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.workers: dict[WorkerId, Worker] = {}
        self.quiet_workers: dict[WorkerId, Worker] = {}
        self.worker_rows: dict[WorkerId, None] = {}
        self.holds: list[tuple[WorkerId, AllocationId, SlotHold]] = []
        self.releases: list[tuple[WorkerId, Run | AllocationId]] = []
        self.runs: dict[RunId, Run] = {}
        self.followed: dict[RunId, Run] = {}
        self.usage_starts: list[tuple[Run, datetime]] = []
        self.trials: dict[TrialId, Trial] = {}
        self.lazy: set[RunId | TrialId] = set()
        self.held: list[tuple[PoolName, ExperimentId, int]] = []
        self.paused: list[tuple[ExperimentId, Kind, int]] = []
        self.reports: list[tuple[TrialId, Report]] = []
        self.facts: list[Fact] = []
        self.desired: dict[WorkerId, None] = {}
