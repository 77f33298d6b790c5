"""Machinery of `scheduler_scale`: a large site as its tables give it. 12,500 machines of 8 slots, 95 % full, 100,000 trials of 1 to 256
slots waiting in 200 tenants; one pool, by fair share with quotas, backfill and preemption.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from services.scheduler.core.state.bulk_load import loading
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.queue import ExperimentPolicy
from services.scheduler.core.state.records.gang import Gang, GangShare
from services.scheduler.core.state.records.labels import Labels, PlacementConstraint
from services.scheduler.core.state.records.pool import Quota
from services.scheduler.core.state.records.run import Grant, Run
from services.scheduler.core.state.records.run_states import GangState
from services.scheduler.core.state.records.trial import RequestState, SlotNeeds, Trial, TrialRequest
from services.scheduler.core.state.records.worker import Liveness, SlotHold, Worker
from shared.ids import AllocationId, ExperimentId, PoolName, RunId, TenantId, TrialId, WorkerId, id_of
from shared.messages.trial_specs import DesiredState
from tests.support.policies import plain

SEED = 7
MACHINES, SLOTS = 12_500, 8
FULL = 0.95
TENANTS, EXPERIMENTS = 200, 20
WAITING = 100_000
GANGS = {1: 30, 2: 15, 3: 5, 4: 15, 8: 15, 12: 2, 16: 8, 32: 4, 64: 3, 128: 2, 256: 1}
RACK, GPUS, ZONES = 50, ("a", "b", "c", "d"), 10
"""Machines of a rack are of one kind and stand in one zone."""
POOL = PoolName("big")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLICY = plain(
    POOL,
    order="fair_share",
    preemption=True,
    half_life=timedelta(hours=12),
    min_run=timedelta(minutes=5),
    max_preemptions=3,
)
QUOTA = Quota(guaranteed=300, maximum=1_500)


@dataclass
class Records:
    """What the tables say."""

    quotas: dict[tuple[TenantId, ...], Quota] = field(default_factory=dict)
    policies: dict[ExperimentId, ExperimentPolicy] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    workers: list[Worker] = field(default_factory=list)


class Site:
    """Makes records, and what happens later. `labelled`: such a part of the experiments minds where it runs."""

    def __init__(self, generator: random.Random, labelled: float = 0.0) -> None:
        self.generator, self.labelled = generator, labelled
        self.records = Records()
        self.token = 0
        self.place = 0
        sizes, weights = zip(*GANGS.items(), strict=True)
        self.size_of = {
            (tenant, number): generator.choices(sizes, weights)[0]
            for tenant in range(TENANTS)
            for number in range(EXPERIMENTS)
        }
        tastes = random.Random(SEED)
        self.where_of = {key: _taste(tastes) if tastes.random() < labelled else None for key in self.size_of}
        # Some tenants have much, some little: a few borrow, others have claims.
        self.busy = [1.0 / (1 + tenant % 20) for tenant in range(TENANTS)]

    def make(self) -> Records:
        records = self.records
        for tenant in range(TENANTS):
            records.quotas[TenantId(id_of(1 + tenant)),] = QUOTA
            for number in range(EXPERIMENTS):
                records.policies[self._experiment(tenant, number)] = ExperimentPolicy(
                    42, weight=1.0 + number % 3
                )
        self._fill()
        for _ in range(WAITING):
            records.trials.append(self.trial(self.generator.randrange(TENANTS)))
        return records

    def trial(self, tenant: int) -> Trial:
        """A new waiting trial of some experiment of this tenant."""
        self.place += 1
        number = self.generator.randrange(EXPERIMENTS)
        size = self.size_of[tenant, number]
        request = TrialRequest(
            trial=TrialId(id_of(1 << 64 | self.place)),
            tenant=TenantId(id_of(1 + tenant)),
            experiment=self._experiment(tenant, number),
            version=1,
            request=1,
            desired_state=DesiredState.RUN,
            decide_at=None,
            needs=SlotNeeds(size, size, where=self.where_of[tenant, number]),
            pool=POOL,
            max_restarts=5,
            workspace=f"workspace {number % 2}",
            owner=f"user {number % 5}",
        )
        return Trial(request, self.place, NOW, submitted_at=NOW)

    def _experiment(self, tenant: int, number: int) -> ExperimentId:
        return ExperimentId(id_of(1_000_000 + tenant * EXPERIMENTS + number))

    def _fill(self) -> None:
        """Gangs of all sizes, each on machines that serve its tenant alone."""
        workers = [
            Worker(
                WorkerId(f"machine-{at:05d}"), POOL, "cuda", tuple(range(SLOTS)), "10.0.0.1", _labels_of(at // RACK) if self.labelled else (),
                liveness=Liveness.READY, has_heartbeat=True,
            )
            for at in range(MACHINES)
        ]  # fmt: skip
        fresh = list(reversed(workers))
        partly: dict[int, Worker] = {}
        held = [0] * TENANTS
        left = int(MACHINES * SLOTS * FULL)
        while left > 0:
            tenant = self.generator.choices(range(TENANTS), self.busy)[0]
            trial = self.trial(tenant)
            size = trial.request.needs.max_slots
            if size > len(fresh) * SLOTS or held[tenant] + size > (QUOTA.maximum or 0):
                continue
            held[tenant] += size
            self._start(trial, tenant, size, fresh, partly)
            left -= size
        self.records.workers = workers

    def _start(
        self, trial: Trial, tenant: int, size: int, fresh: list[Worker], partly: dict[int, Worker]
    ) -> None:
        self.token += 1
        allocation = AllocationId(id_of(2 << 64 | self.token))
        shares = []
        while size:
            worker = partly.get(tenant) or fresh.pop()
            here = worker.free_slot_ids[:size]
            worker.hold(allocation, SlotHold(trial.request.tenant, here))
            shares.append(GangShare(worker.id, len(here), here, worker.address))
            size -= len(here)
            if worker.free_slot_ids:
                partly[tenant] = worker
            else:
                partly.pop(tenant, None)
        granted_at = NOW - timedelta(seconds=self.generator.randrange(86_400))
        request = trial.request
        grant = Grant(
            id=RunId(id_of(3 << 64 | self.token)), allocation=allocation, trial=request.trial, tenant=request.tenant,
            experiment=request.experiment, pool=POOL, number=1, token=self.token, request=1,
            granted_at=granted_at, workspace=request.workspace, owner=request.owner,
        )  # fmt: skip
        seen = frozenset(share.worker for share in shares)
        made = Run(grant, Gang(tuple(shares), GangState.TRAINING, seen=seen))
        self.records.runs.append(made)
        self.records.trials.append(trial._replace(state=RequestState.RUNNING, runs=1, run=made.id))


def build(records: Records) -> Cluster:
    """The world from its records, as a leader's term begins."""
    cluster = Cluster()
    cluster.advance_to(NOW)
    cluster.put_pool(POLICY)
    for path, quota in records.quotas.items():
        cluster.put_quota(POOL, path, quota)
    for experiment, policy in records.policies.items():
        cluster.put_experiment_policy(experiment, policy)
    with loading(cluster):
        for trial in records.trials:
            cluster.put_trial(trial)
        for made in records.runs:
            cluster.put_run(made)
    for worker in records.workers:
        cluster.put_worker(worker)
    return cluster


def replace_workers(records: Records) -> Records:
    """Workers are the one kind of record that a cluster changes."""
    return replace(records, workers=[replace(worker, held=dict(worker.held)) for worker in records.workers])


def _labels_of(rack: int) -> Labels:
    return (("gpu", GPUS[rack % len(GPUS)]), ("rack", f"r{rack:03d}"), ("zone", f"z{rack % ZONES}"))


def _taste(generator: random.Random) -> PlacementConstraint:
    """A kind of machine; half would rather be in one zone."""
    preferred = (("zone", f"z{generator.randrange(ZONES)}"),) if generator.random() < 0.5 else ()
    return PlacementConstraint(required=(("gpu", generator.choice(GPUS)),), preferred=preferred)
