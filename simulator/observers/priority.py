"""Who goes before whom: the invariant of priorities, with the reasons for which a less important request may be served first."""

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
    """Nobody is granted what a more important request of the same shape waits for, unless a limit of its own holds that one up, ageing
    has made up for the difference, or the slots are booked now and not for that one; nobody gives way to an equal or less important one,
    but for what was borrowed; to an equal when its turn is over."""

    words = "priority never inverted"

    def on_turn(self, cluster: Cluster, planned: SchedulingPlan) -> None:
        for signal in planned.signals:
            if signal.for_trial is None or signal.because == "defragment":
                continue
            self._judge_signal(
                cluster, cluster.runs[signal.run], cluster.trials[signal.for_trial], signal.because == "turn"
            )
        for number, grant in enumerate(planned.grants):
            trial = cluster.trials[grant.trial]
            policy = cluster.pools[cluster.pool_of(trial)].policy
            if policy.order != "priority":
                continue
            limited = {
                cluster.trials[other].wish.experiment
                for other, reason in planned.refusals.items()
                if reason in _LIMITS
            }
            booked = _booked(cluster, trial, planned.grants[number:])
            for other in _waiting(cluster, trial):
                if other.wish.experiment in limited or _is_lent(cluster, trial, other):
                    continue
                if any(not _is_under(other.wish, holder) for holder in booked):
                    continue
                if self._is_before(cluster, policy, other, trial):
                    raise self.broken(
                        f"trial {trial.id} of priority {cluster.part_of(trial).priority} was granted before"
                        f" {other.id} of {cluster.part_of(other).priority}, which was told {planned.refusals.get(other.id)}"
                    )

    def _judge_signal(self, cluster: Cluster, victim: Run, winner: Trial, yields: bool) -> None:
        loser = cluster.trials[victim.trial]
        if cluster.pools[victim.pool].policy.order == "priority":
            given, taken = cluster.part_of(loser).priority, cluster.part_of(winner).priority
            if given <= taken and not (yields and given == taken) and not _reclaims(cluster, victim, winner):
                raise self.broken(f"a run of priority {given} is asked to give way to priority {taken}")

    def _is_before(self, cluster: Cluster, policy: PoolPolicy, one: Trial, other: Trial) -> bool:
        difference = cluster.part_of(other).priority - cluster.part_of(one).priority
        if policy.ageing is None:
            return difference > 0
        submitted_ms, later_ms = (_since_ms(cluster, trial) for trial in (other, one))
        return difference > 0 and later_ms - submitted_ms < difference * policy.ageing // MILLISECOND


def _since_ms(cluster: Cluster, trial: Trial) -> int:
    """From when a request counts as waiting: where turns are taken, from the last that its experiment had."""
    submitted_ms = milliseconds(trial.submitted_at or trial.since)
    if cluster.pools[cluster.pool_of(trial)].policy.quantum is None:
        return submitted_ms
    return max(submitted_ms, cluster.turns.last_ms(trial.wish.experiment))


def _reclaims(cluster: Cluster, victim: Run, winner: Trial) -> bool:
    """Whether the winner belongs to another who has a guarantee, under which it may take back what the victim borrows."""
    quotas = cluster.pools[victim.pool].shares.quotas
    paths = [(victim.tenant, winner.wish.tenant), (victim.grant.workspace, winner.wish.workspace)]
    for length in (1, 2):
        theirs, mine = (tuple(path[side] for path in paths[:length]) for side in (0, 1))
        quota = quotas.get(mine)
        if theirs != mine and quota is not None and quota.guaranteed:
            return True
    return False


def _is_lent(cluster: Cluster, granted: Trial, waiting: Trial) -> bool:
    """Whether slots kept for the head of the queue were lent to one from whom they can be asked back; the other is no such one."""
    pool = cluster.pools[cluster.pool_of(granted)]
    head = cluster.trials.get(pool.reserved.trial) if pool.policy.preemption and pool.reserved else None
    if head is None:
        return False
    mine, theirs, first = (cluster.part_of(trial).priority for trial in (granted, waiting, head))
    return theirs <= first < mine


def _booked(cluster: Cluster, granted: Trial, grants: Sequence[Grant]) -> list[Path]:
    """Holders of bookings, the granted trial's owner among them, who held less than is booked for them now before these grants. A run
    counts for the narrowest booking that covers it."""
    pool = cluster.pools[cluster.pool_of(granted)]
    booked: Counter[Path] = Counter()
    for one in pool.reservations.values():
        if one.is_running(cluster.now_ms):
            booked[one.holder] += one.slots
    held: Counter[Path] = Counter()
    new = {grant.trial for grant in grants}
    for run in cluster.runs.values() if booked else ():
        trial = cluster.trials[run.trial]
        covered = [holder for holder in booked if _is_under(trial.wish, holder)]
        is_here = run.pool == pool.policy.name and trial.id not in new
        if covered and is_here and not is_leaving(run, trial):
            held[max(covered, key=len)] += sum(
                share.slots for share in run.shares if share.worker not in run.gang.released
            )
    return [holder for holder in booked - held if _is_under(granted.wish, holder)]


def _is_under(wish: TrialRequest, holder: Path) -> bool:
    return (wish.tenant, wish.workspace)[: len(holder)] == holder


def _waiting(cluster: Cluster, trial: Trial) -> list[Trial]:
    """Requests that wait in the same pool for the same shape, of the same tenant."""
    pool = cluster.pools[cluster.pool_of(trial)]
    waiting = [cluster.trials[other] for other in pool.queue]
    shape = (trial.wish.tenant, trial.wish.needs)
    return [other for other in waiting if (other.wish.tenant, other.wish.needs) == shape]
