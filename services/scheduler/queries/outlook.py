"""The current state of a pool and its probable near future, for planning an experiment. Numbers only, without
names or content of others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil

from services.scheduler.core.explaining.forecast.remaining_times import RemainingTimes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.indexes.share_tree import RequestGroup
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import SlotNeeds, Trial
from shared.errors import Rejected
from shared.ids import ExperimentId, TenantId
from shared.messages.plans import Outlook, OutlookLimit, OutlookRequest, OutlookWindow
from shared.messages.pools import PoolView
from shared.messages.workers import WorkerView

MOST = 1500
"""The number of runs, request groups and workers that fit into one reply."""


def outlook_of(
    cluster: Cluster,
    pool: Pool,
    whose: tuple[TenantId, str],
    view: PoolView,
    workers: tuple[WorkerView, ...],
) -> Outlook:
    """Return the outlook. Requests are listed with running ones first, in the order of their grants, then
    waiting ones in submission order.

    Args:
        pool: A pool of the cluster. `view` and `workers`: its description.
        whose: Tenant and workspace that are numbered 0.

    Raises:
        Rejected: The pool has too many runs, request groups and workers for one reply.
    """
    writer = _OutlookWriter(cluster, pool, _Numbers(*whose), RemainingTimes(cluster, pool))
    if len(pool.charges) + len(pool.queue.lines) + len(workers) > MOST:
        raise Rejected(
            "pool_too_large",
            f"pool {view.pool} has more than {MOST} runs, request groups and machines, too many to simulate",
            "pool",
            "plan for the pool as if nothing else ran (`--whole`), or for the machines in a file (`--cluster`)",
        )
    return Outlook(
        pool=view,
        workers=workers,
        limits=tuple(writer.limits()),
        windows=tuple(writer.windows()),
        requests=(*writer.running(), *writer.waiting()),
        price_per_slot_hour=pool.policy.price_per_slot_hour,
    )


@dataclass(slots=True)
class _Numbers:
    """Numbers tenants, workspaces and experiments within one reply; the caller's are 0."""

    tenant: TenantId
    workspace: str
    tenants: dict[object, int] = field(default_factory=dict)
    workspaces: dict[object, int] = field(default_factory=dict)
    experiments: dict[ExperimentId, int] = field(default_factory=dict)

    def of_tenant(self, tenant: object) -> int:
        return 0 if tenant == self.tenant else self.tenants.setdefault(tenant, len(self.tenants) + 1)

    def of_workspace(self, tenant: object, workspace: object) -> int:
        if (tenant, workspace) == (self.tenant, self.workspace):
            return 0
        return self.workspaces.setdefault((tenant, workspace), len(self.workspaces) + 1)

    def of_experiment(self, experiment: ExperimentId) -> int:
        return self.experiments.setdefault(experiment, len(self.experiments) + 1)


@dataclass(frozen=True, slots=True)
class _OutlookWriter:
    cluster: Cluster
    pool: Pool
    numbers: _Numbers
    rests: RemainingTimes

    def limits(self) -> Iterator[OutlookLimit]:
        for (tenant, *below), quota in self.pool.shares.quotas.items():
            yield OutlookLimit(
                tenant=self.numbers.of_tenant(tenant),
                workspace=self.numbers.of_workspace(tenant, below[0]) if below else None,
                guaranteed=quota.guaranteed,
                maximum=quota.maximum,
                weight=quota.weight,
            )

    def windows(self) -> Iterator[OutlookWindow]:
        now_ms = self.cluster.now_ms
        for one in self.pool.reservations.values():
            tenant, *below = one.holder
            yield OutlookWindow(
                tenant=self.numbers.of_tenant(tenant),
                workspace=self.numbers.of_workspace(tenant, below[0]) if below else None,
                slots=one.slots,
                starts_in_s=max(0.0, (one.begin_ms - now_ms) / 1000),
                ends_in_s=(one.end_ms - now_ms) / 1000,
            )

    def running(self) -> Iterator[OutlookRequest]:
        runs = (self.cluster.runs[name] for name, charge in self.pool.charges.items() if charge.slots)
        for run in sorted(runs, key=lambda run: run.token):
            if (trial := self.cluster.trials.get(run.trial)) is not None:
                yield self._running(run, trial)

    def waiting(self) -> Iterator[OutlookRequest]:
        for line in sorted(self.pool.queue.lines.values(), key=lambda line: line.keys[0]):
            first = self.cluster.trials[line.keys[0][2]]
            yield self._waiting(line, first)

    def _running(self, run: Run, trial: Trial) -> OutlookRequest:
        held = ceil(sum(share.charged for share in run.shares))
        request = self._request(trial, trial.request.needs, held, held)
        return request.model_copy(
            update={
                "workers": {share.worker: share.slots for share in run.shares},
                "age_s": (self.cluster.now_ms - milliseconds(run.granted_at)) / 1000,
                "rest_s": _seconds(self.rests.of_run(run)),
            }
        )

    def _waiting(self, line: RequestGroup, first: Trial) -> OutlookRequest:
        needs = line.needs
        request = self._request(first, needs, needs.max_slots, needs.min_slots)
        return request.model_copy(
            update={
                "count": len(line.keys),
                "age_s": (self.cluster.now_ms - milliseconds(first.since)) / 1000,
                "rest_s": _seconds(self.rests.of_next(first.request.experiment)),
            }
        )

    def _request(self, trial: Trial, needs: SlotNeeds, slots: int, least: int) -> OutlookRequest:
        wanted, policy, where = (
            trial.request,
            self.cluster.policy_of(trial),
            needs.where or PlacementConstraint(),
        )
        return OutlookRequest(
            tenant=self.numbers.of_tenant(wanted.tenant),
            workspace=self.numbers.of_workspace(wanted.tenant, wanted.workspace),
            experiment=self.numbers.of_experiment(wanted.experiment),
            priority=policy.priority,
            weight=policy.weight,
            experiment_max_slots=policy.max_slots,
            experiment_max_trials=policy.max_trials,
            slots=slots,
            min_slots=least,
            fraction=needs.fraction,
            single_node=needs.single_node,
            required_labels=dict(where.required),
            excluded_workers=where.excluded,
        )


def _seconds(durations_ms: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(duration / 1000 for duration in durations_ms)
