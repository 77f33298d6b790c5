"""The invariant of priorities, with the cases in which a less important request may be served first."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from services.scheduler.core.planning.decisions import Grant
from services.scheduler.core.planning.plan import SchedulingPlan
from services.scheduler.core.state.cluster import Cluster, is_leaving
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.records.pool import Path, PoolPolicy
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial, TrialRequest
from simulator.observers.invariant import Invariant

MILLISECOND = timedelta(milliseconds=1)
_LIMITS = frozenset(
    {"max_slots", "max_trials", "workspace_quota", "tenant_quota", "workspace_budget", "tenant_budget"}
)


class PriorityNeverInverted(Invariant):
    """No request is granted what a more important request of the same shape waits for, unless that one has
    reached a limit, ageing has compensated for the difference, or the slots are reserved for others. No run is
    preempted for an equally or less important request, except for borrowed slots, or for a peer at the end of a
    time slice."""

    rule = "priority never inverted"

    def on_cycle(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        for signal in planned.signals:
            if signal.for_trial is None or signal.because == "defragment":
                continue
            self._judge_signal(
                cluster,
                cluster.runs[signal.run],
                cluster.trials[signal.for_trial],
                signal.because == "time_slice",
            )
        for number, grant in enumerate(planned.grants):
            trial = cluster.trials[grant.trial]
            policy = cluster.pools[cluster.pool_of(trial)].policy
            if policy.order != "priority":
                continue
            limited = {
                cluster.trials[other].request.experiment
                for other, reason in planned.refusals.items()
                if reason in _LIMITS
            }
            booked = _booked(cluster, trial, planned.grants[number:])
            for other in _waiting(cluster, trial):
                if other.request.experiment in limited or _is_reclaimable(cluster, trial, other):
                    continue
                if any(not _is_under(other.request, holder) for holder in booked):
                    continue
                if self._is_before(cluster, policy, other, trial):
                    raise self.broken(
                        f"trial {trial.id} of priority {cluster.policy_of(trial).priority} was granted before"
                        f" {other.id} of priority {cluster.policy_of(other).priority}, which waits because of {planned.refusals.get(other.id)}"
                    )

    def _judge_signal(self, cluster: Cluster, victim: Run, winner: Trial, yields: bool) -> None:
        loser = cluster.trials[victim.trial]
        if cluster.pools[victim.pool].policy.order == "priority":
            given, taken = cluster.policy_of(loser).priority, cluster.policy_of(winner).priority
            if given <= taken and not (yields and given == taken) and not _reclaims(cluster, victim, winner):
                raise self.broken(f"a run of priority {given} is preempted for priority {taken}")

    def _is_before(self, cluster: Cluster, policy: PoolPolicy, one: Trial, other: Trial) -> bool:
        difference = cluster.policy_of(other).priority - cluster.policy_of(one).priority
        if policy.ageing is None:
            return difference > 0
        submitted_ms, later_ms = (_since_ms(cluster, trial) for trial in (other, one))
        return difference > 0 and later_ms - submitted_ms < difference * policy.ageing // MILLISECOND


def _since_ms(cluster: Cluster, trial: Trial) -> int:
    """Return from when a request counts as waiting; with time slicing, from the last time slice of its experiment."""
    submitted_ms = milliseconds(trial.submitted_at or trial.since)
    if cluster.pools[cluster.pool_of(trial)].policy.quantum is None:
        return submitted_ms
    return max(submitted_ms, cluster.yield_times.last_yield_ms(trial.request.experiment))


def _reclaims(cluster: Cluster, victim: Run, winner: Trial) -> bool:
    """Whether the winner belongs to another holder with a guarantee, which may reclaim what the victim borrows."""
    quotas = cluster.pools[victim.pool].shares.quotas
    paths = [(victim.tenant, winner.request.tenant), (victim.grant.workspace, winner.request.workspace)]
    for length in (1, 2):
        theirs, mine = (tuple(path[side] for path in paths[:length]) for side in (0, 1))
        quota = quotas.get(mine)
        if theirs != mine and quota is not None and quota.guaranteed:
            return True
    return False


def _is_reclaimable(cluster: Cluster, granted: Trial, waiting: Trial) -> bool:
    """Whether the granted request uses reserved slots of the queue head that can be reclaimed from it, unlike
    from the waiting one."""
    pool = cluster.pools[cluster.pool_of(granted)]
    head = cluster.trials.get(pool.reserved.trial) if pool.policy.preemption and pool.reserved else None
    if head is None:
        return False
    mine, theirs, first = (cluster.policy_of(trial).priority for trial in (granted, waiting, head))
    return theirs <= first < mine


def _booked(cluster: Cluster, granted: Trial, grants: Sequence[Grant]) -> list[Path]:
    """Return the holders of reservations that include the granted trial's owner and held less than reserved
    before these grants. A run counts for the narrowest reservation that covers it."""
    pool = cluster.pools[cluster.pool_of(granted)]
    booked: Counter[Path] = Counter()
    for one in pool.reservations.values():
        if one.is_running(cluster.now_ms):
            booked[one.holder] += one.slots
    held: Counter[Path] = Counter()
    new = {grant.trial for grant in grants}
    for run in cluster.runs.values() if booked else ():
        trial = cluster.trials[run.trial]
        covered = [holder for holder in booked if _is_under(trial.request, holder)]
        is_here = run.pool == pool.policy.name and trial.id not in new
        if covered and is_here and not is_leaving(run, trial):
            held[max(covered, key=len)] += sum(
                share.slots for share in run.shares if share.worker not in run.gang.released
            )
    return [holder for holder in booked - held if _is_under(granted.request, holder)]


def _is_under(request: TrialRequest, holder: Path) -> bool:
    return (request.tenant, request.workspace)[: len(holder)] == holder


def _waiting(cluster: Cluster, trial: Trial) -> list[Trial]:
    """Return the requests of the same tenant and shape that wait in the same pool."""
    pool = cluster.pools[cluster.pool_of(trial)]
    waiting = [cluster.trials[other] for other in pool.queue]
    shape = (trial.request.tenant, trial.request.needs)
    return [other for other in waiting if (other.request.tenant, other.request.needs) == shape]
