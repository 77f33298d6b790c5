"""Forecasts the start of a request by simulating many futures: runs end at sampled times, requests ahead take
the slots that become free, then the request starts.

It is a simplified plan, made to be fast: no reservations, no arrivals, no preemption.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from services.scheduler.core.explaining.forecast.free_units import free_times, serve
from services.scheduler.core.explaining.queue_positions import rank_of
from services.scheduler.core.planning.decisions import WaitReason
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pool import Pool
from services.scheduler.core.state.indexes.queue import ask_of, milliseconds
from services.scheduler.core.state.indexes.run_durations import Draws, Survival, survival
from services.scheduler.core.state.indexes.share_tree import NEVER, RequestGroup, ShareNode
from services.scheduler.core.state.machine_refresh import refresh
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.pool import OrderName
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from shared.ids import ExperimentId

FUTURES = 128
MOST_AHEAD = 200
"""If more requests are ahead, several are merged into one."""
DOUBT: Mapping[OrderName, float] = {"fifo": 0.25, "priority": 0.65, "fair_share": 0.85}
"""The standard deviation of a log-normal factor for what the model omits, above all later arrivals that go
first (found by `make bench NAME=start_estimates`)."""
KINSHIP = 0.5
"""The fraction of the variance of durations that is between experiments, not between runs of one experiment."""
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, slots=True)
class StartForecast:
    """Milliseconds from now: in 80% of the futures between `earliest_ms` and `latest_ms`. `runs`: how many
    ended runs it is based on."""

    earliest_ms: float
    expected_ms: float
    latest_ms: float
    runs: int


def forecast(
    cluster: Cluster, trial: Trial, reason: WaitReason, chance: np.random.Generator
) -> StartForecast | None:
    """Forecast when a waiting request will start. None: too few ended runs, it does not wait for a run to end,
    or it no longer waits.

    Args:
        reason: The reason for waiting (`wait_reasons.binding_of`).
        chance: The same state gives the same futures.
    """
    refresh(cluster)
    needs, pool = trial.request.needs, cluster.pools[cluster.pool_of(trial)]
    leaf = pool.shares.leaves.get(trial.request.experiment)
    if (
        leaf is None
        or trial.id not in pool.queue
        or not needs.min_slots
        or reason in ("uploads", "back_off", "beyond_pool")
    ):
        return None
    futures = _Futures(cluster, pool, chance)
    starts = _in_pool(futures, trial)
    if starts is not None and reason not in ("slots", "preempting"):
        limited = _within_limit(futures, trial, leaf, reason)
        starts = None if limited is None else np.maximum(starts, limited)
    if starts is None or futures.is_ignorant:
        return None
    starts = starts * np.exp(DOUBT[pool.policy.order] * chance.standard_normal(FUTURES))
    low, middle, high = np.quantile(starts, (LOW, 0.5, HIGH))
    return StartForecast(float(low), float(middle), float(high), futures.runs)


@dataclass(slots=True)
class _Futures:
    """Samples durations. `is_ignorant`: a duration was needed and nothing is known about it."""

    cluster: Cluster
    pool: Pool
    chance: np.random.Generator
    is_ignorant: bool = False
    known: dict[ExperimentId | None, tuple[Survival, int]] = field(default_factory=dict)
    common: dict[ExperimentId, Draws] = field(default_factory=dict)
    waiting_behind: dict[ExperimentId, float] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        return sum(count for _, count in self.known.values())

    def rest(self, run: Run) -> Draws:
        """Return how much longer a run and those of its experiment that take over its slots hold them."""
        if run.id in self.pool.leaving:
            return self.chance.random(FUTURES) * self.cluster.pause_durations.get(run.experiment, "leave")
        age_ms = self.cluster.now_ms - milliseconds(run.granted_at)
        rest = self._of(run.experiment).rest(age_ms, self._chance(run.experiment))
        behind = self.waiting_behind.get(run.experiment, 0.0)
        return rest + self.whole(run.experiment, behind) if behind else rest

    def whole(self, experiment: ExperimentId, runs: float = 1.0) -> Draws:
        """Return how long this many consecutive runs take."""
        length = self._of(experiment).whole(self._chance(experiment))
        if runs == 1.0:
            return length
        mean = float(length.mean())
        return np.asarray(np.maximum(0.0, runs * mean + runs**0.5 * (length - mean)))

    def _chance(self, experiment: ExperimentId) -> Draws:
        """Return probabilities between 0 and 1. Where only the durations of the entire pool are known, runs of
        one experiment share a random effect."""
        normal = self.chance.standard_normal(FUTURES)
        found = self.cluster.run_durations.of(self.pool.policy.name, experiment)
        if found and found[0] is None:
            if experiment not in self.common:
                self.common[experiment] = self.chance.standard_normal(FUTURES)
            normal = (KINSHIP**0.5) * self.common[experiment] + (1 - KINSHIP) ** 0.5 * normal
        return np.asarray(1 / (1 + np.exp(-1.702 * normal)))

    def _of(self, experiment: ExperimentId) -> Survival:
        found = self.cluster.run_durations.of(self.pool.policy.name, experiment)
        if found is None:
            self.is_ignorant = True
            return _UNKNOWN
        whose, ended = found
        if whose not in self.known:
            ages = [
                self.cluster.now_ms - milliseconds(run.granted_at)
                for run in (self.cluster.runs[name] for name in self.pool.charges)
                if whose in (None, run.experiment)
            ]
            doubt = self.chance.standard_normal(FUTURES)
            self.known[whose] = (survival(ended, ages, doubt), len(ended))
        return self.known[whose][0]


_UNKNOWN = Survival(np.array([0.0, 1.0]), np.array([1.0, 0.0]), np.ones(FUTURES))


@dataclass(frozen=True, slots=True)
class _Ahead:
    """`count` requests for `slots` each, merged into one."""

    rank: tuple[int, ...]
    experiment: ExperimentId
    slots: float
    count: int
    where: PlacementConstraint | None


def _in_pool(futures: _Futures, trial: Trial) -> Draws | None:
    """Return when enough slots are free on the machines."""
    cluster, pool, needs = futures.cluster, futures.pool, trial.request.needs
    must_be_one = needs.single_node or not pool.capacity.exclusive
    unit = needs.min_slots if must_be_one else 1
    ahead = list(_gathered(_ahead(futures, trial)))
    ask = ask_of(trial.request.tenant, needs)
    free, part = free_times(cluster, pool, ask, unit, futures.rest)
    if not free.shape[1]:
        return None
    free = np.array(np.broadcast_to(free, (FUTURES, free.shape[1])))
    # If only some machines are allowed, unconstrained requests take their proportion of them.
    mine, all_ = pool.capacity.total_for(ask)[0], max(1, pool.capacity.total)
    units = [one.slots / unit * part * (1.0 if one.where == needs.where else mine / all_) for one in ahead]
    _serve_all(futures, free, list(zip(ahead, units, strict=True)))
    own = max(1, round(needs.min_slots / unit * part))
    return free[:, min(own, free.shape[1]) - 1]


def _serve_all(futures: _Futures, free: Draws, ahead: list[tuple[_Ahead, float]]) -> None:
    """Let each request take its units. Fractions of units are accumulated."""
    carry = 0.0
    for one, units in ahead:
        carry += units
        if carry >= 1:
            serve(free, int(carry), futures.whole(one.experiment, one.count))
            carry -= int(carry)


def _within_limit(futures: _Futures, trial: Trial, leaf: ShareNode, reason: WaitReason) -> Draws | None:
    """Return when the limit that blocks the request allows it: runs counted by the limit end, and requests
    ahead take their slots."""
    if reason in ("workspace_budget", "tenant_budget", "other_tenant"):
        return None  # until the month ends, or the budget or the pool is changed
    node = {"workspace_quota": leaf.workspace, "tenant_quota": leaf.tenant}.get(reason, leaf)
    counts_runs = reason == "max_trials"
    held = [
        (futures.cluster.runs[run], 1 if counts_runs else ceil(charge.slots))
        for run, charge in futures.pool.charges.items()
        if node in charge.leaf.upwards() and (charge.slots or counts_runs)
    ]
    size = (leaf.max_runs or 0) if counts_runs else (node.quota.maximum or 0)
    mine = 1 if counts_runs else trial.request.needs.min_slots
    if not held or size < mine:
        return None
    futures.waiting_behind.clear()
    times = [futures.rest(run) for run, count in held for _ in range(count)]
    times += [np.zeros(FUTURES)] * (size - len(times))
    free = np.sort(np.stack(times[: max(size, mine)], axis=1), axis=1)
    before = _gathered(_before(futures.pool, trial, node))
    _serve_all(futures, free, [(one, 1.0 if counts_runs else one.slots) for one in before])
    return free[:, mine - 1]


def _ahead(futures: _Futures, trial: Trial) -> list[_Ahead]:
    """Return the requests ahead as far as limits allow them; the others take over slots of their own
    experiment's runs."""
    found: list[_Ahead] = []
    room: dict[ExperimentId, int] = {}
    for one in _before(futures.pool, trial, futures.pool.shares.root):
        its_leaf = futures.pool.shares.leaves[one.experiment]
        left = room.setdefault(one.experiment, _room(its_leaf, one.slots))
        if left or one.experiment == trial.request.experiment:
            found.append(one)
            room[one.experiment] = max(0, left - 1)
        elif its_leaf.runs:
            behind = futures.waiting_behind.get(one.experiment, 0.0)
            futures.waiting_behind[one.experiment] = behind + one.count / its_leaf.runs
    return found


def _room(leaf: ShareNode, slots: float) -> int:
    """Return how many more such runs an experiment may start."""
    by_runs = NEVER if leaf.max_runs is None else leaf.max_runs - leaf.runs
    return max(0, min(by_runs, int(leaf.remaining_slots / slots) if slots else NEVER))


def _before(pool: Pool, trial: Trial, node: ShareNode) -> list[_Ahead]:
    """Return the requests at or below a holder that go before a trial. Under fair share tenants alternate: each
    other tenant gets as many slots as this one."""
    line, key = pool.queue.line_of(trial.id)
    mine, is_fair = rank_of(pool, line, key), pool.policy.order == "fair_share"
    own: list[tuple[RequestGroup, int]] = []
    others: dict[ShareNode, list[RequestGroup]] = {}
    for other in pool.queue.lines.values():
        if node.parent is not None and node not in other.leaf.upwards():
            continue
        if is_fair and other.leaf.tenant is not line.leaf.tenant:
            others.setdefault(other.leaf.tenant, []).append(other)
        elif before := bisect_left(other.keys, mine, key=lambda place, of=other: rank_of(pool, of, place)):  # type: ignore[misc]
            own.append((other, before))
    slots = trial.request.needs.min_slots + sum(float(other.needs.least) * count for other, count in own)
    for lines in others.values():
        own += _oldest_groups(lines, slots)
    per_bundle = -(-sum(count for _, count in own) // MOST_AHEAD)
    return [one for other, count in own for one in _bundled(pool, other, count, max(1, per_bundle))]


def _oldest_groups(lines: list[RequestGroup], slots: float) -> Iterator[tuple[RequestGroup, int]]:
    """Yield the oldest groups of another tenant, as many requests as start while this tenant receives `slots`
    slots."""
    for line in sorted(lines, key=lambda line: line.keys[0]):
        count = min(len(line.keys), ceil(slots / max(1, line.needs.min_slots)))
        if slots <= 0:
            return
        slots -= count * line.needs.min_slots
        yield line, count


def _bundled(pool: Pool, line: RequestGroup, count: int, per_bundle: int) -> Iterator[_Ahead]:
    """Yield the first `count` requests of a group; `per_bundle` of them at a time run one after the other in
    the same slots."""
    experiment = ExperimentId(line.leaf.path[3])  # type: ignore[arg-type]
    for first in range(0, count, per_bundle):
        rank = rank_of(pool, line, line.keys[first])
        yield _Ahead(
            rank, experiment, float(line.needs.least), min(per_bundle, count - first), line.needs.where
        )


def _gathered(found: list[_Ahead]) -> Iterator[_Ahead]:
    """Return the requests in order; if there are still too many, those of equal size are merged."""
    ordered = sorted(found, key=lambda one: one.rank)
    per_bundle = -(-len(ordered) // MOST_AHEAD)
    collected: dict[tuple[float, PlacementConstraint | None], list[_Ahead]] = {}
    for one in ordered:
        group = collected.setdefault((one.slots, one.where), [])
        group.append(one)
        if len(group) == per_bundle:
            yield _sum(group)
            group.clear()
    yield from (_sum(group) for group in collected.values() if group)


def _sum(group: list[_Ahead]) -> _Ahead:
    return replace(group[0], count=sum(one.count for one in group))
