"""Measures a workload: waiting, completion, utilisation, fairness. `experiments` covers the results of searches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Closed, Ended, Granted
from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.unsaved import Unsaved
from shared.ids import ExperimentId, RunId, TenantId, TrialId
from simulator.event_queue import EventQueue
from simulator.observers.observer import Observer
from simulator.trials import Work, WorkloadTrial


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of durations, in seconds. The p-th percentile is the smallest value that p % do not exceed."""

    average_s: float = 0.0
    p50_s: float = 0.0
    p99_s: float = 0.0
    longest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """Figures of one trial. `waited_s`: until its first grant; `alone_s`: its duration, as far as it got,
    without waiting or failures."""

    name: str
    tenant: str
    outcome: str
    waited_s: float
    took_s: float
    alone_s: float
    runs: int


@dataclass(frozen=True, slots=True)
class TenantFigures:
    """Figures of one tenant's trials. `speed`: the mean of `alone_s` / `took_s`."""

    trials: int
    waiting: Figures
    completion: Figures
    slot_hours: float
    speed: float


@dataclass(slots=True)
class _Course:
    item: WorkloadTrial
    granted_ms: int | None = None
    closed_ms: int | None = None
    outcome: str = ""
    runs: int = 0
    step: int = 0


@dataclass(slots=True)
class Measures(Observer):
    """Collects events, and returns the figures at the end."""

    agenda: EventQueue = field(default_factory=EventQueue)
    placements: int = 0
    preempted: int = 0
    resized: int = 0
    lost: int = 0
    restarted: int = 0
    slot_ms: float = 0
    ways: dict[TrialId, _Course] = field(default_factory=dict)
    slot_ms_of: dict[ExperimentId, float] = field(default_factory=dict)
    _granted: dict[RunId, int] = field(default_factory=dict)
    _used: dict[TenantId, float] = field(default_factory=dict)
    _tenants: dict[TenantId, str] = field(default_factory=dict)

    def on_arrived(self, trial: TrialId, tenant: TenantId, item: WorkloadTrial) -> None:
        self.ways[trial] = _Course(item)
        self._tenants[tenant] = item.tenant

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        now_ms = self.agenda.now_ms
        for fact in changes.facts:
            match fact:
                case Granted(run, _):
                    self.placements += 1
                    self._granted[run.id] = now_ms
                    way = self.ways[run.trial]
                    way.runs += 1
                    way.granted_ms = now_ms if way.granted_ms is None else way.granted_ms
                case Ended(run, _, ending, exited):
                    self._end(run, now_ms)
                    way = self.ways[run.trial]
                    way.step = max(way.step, run.progress.step, exited.step if exited else 0)
                    if ending.outcome == "preempted":
                        self.resized += run.is_resized
                        self.preempted += not run.is_resized
                    self.lost += ending.outcome == "lost"
                    self.restarted += ending.closes is None and ending.outcome == "failed"
                case Closed(trial, outcome, _):
                    way = self.ways[trial.id]
                    way.closed_ms, way.outcome = now_ms, outcome
                case _:
                    pass

    def served(self) -> list[TrialFigures]:
        """Return the figures of all trials that have ended, in order of arrival."""
        ended = [way for way in self.ways.values() if way.closed_ms is not None]
        return [_served(way) for way in sorted(ended, key=lambda way: way.item.arrives_ms)]

    def accounts(self, served: Sequence[TrialFigures]) -> dict[str, TenantFigures]:
        """Return the figures by tenant, sorted by name."""
        names = sorted({one.tenant for one in served})
        hours = dict.fromkeys(names, 0.0)
        for tenant, used_ms in self._used.items():
            name = self._tenants[tenant]
            hours[name] = hours.get(name, 0.0) + used_ms / 3_600_000
        return {name: _account([one for one in served if one.tenant == name], hours[name]) for name in names}

    def _end(self, run: Run, now_ms: int) -> None:
        used_ms = float((now_ms - self._granted.pop(run.id)) * run.slots)
        self.slot_ms += used_ms
        self._used[run.tenant] = self._used.get(run.tenant, 0) + used_ms
        self.slot_ms_of[run.experiment] = self.slot_ms_of.get(run.experiment, 0) + used_ms


def figures(values: Iterable[float]) -> Figures:
    """All zero without values."""
    ordered = sorted(values)
    if not ordered:
        return Figures()
    return Figures(
        average_s=sum(ordered) / len(ordered),
        p50_s=_percentile(ordered, 50),
        p99_s=_percentile(ordered, 99),
        longest_s=ordered[-1],
    )


def jain(values: Sequence[float]) -> float:
    """Jain's index: 1 if all values are equal, 1/n if one has everything. (Jain, Chiu, Hawe 1984: (Σx)² / (n Σx²))"""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def alone_ms(work: Work, slots: int, share: float = 1.0) -> float:
    """Return how long work takes with `slots` slots on one machine, from its start to its end or to a fraction
    of it."""
    progress, took_ms, goal = 0.0, 0.0, share * work.total
    while progress < goal:
        pace = work.pace((slots,), progress)
        until = min(pace.until, goal)
        took_ms += (until - progress) / pace.per_ms
        progress = until
    return took_ms


def _served(way: _Course) -> TrialFigures:
    item = way.item
    closed_ms = way.closed_ms if way.closed_ms is not None else item.arrives_ms
    share = 1.0 if way.outcome == "completed" else way.step / item.steps
    first_ms = way.granted_ms if way.granted_ms is not None else closed_ms
    return TrialFigures(
        name=item.name,
        tenant=item.tenant,
        outcome=way.outcome,
        waited_s=(first_ms - item.arrives_ms) / 1000,
        took_s=(closed_ms - item.arrives_ms) / 1000,
        alone_s=(item.launch_ms + alone_ms(item.work, max(1, item.max_slots), share)) / 1000,
        runs=way.runs,
    )


def _account(served: Sequence[TrialFigures], slot_hours: float) -> TenantFigures:
    return TenantFigures(
        trials=len(served),
        waiting=figures(one.waited_s for one in served),
        completion=figures(one.took_s for one in served),
        slot_hours=slot_hours,
        speed=sum(one.alone_s / max(one.took_s, 0.001) for one in served) / len(served),
    )


def _percentile(ordered: Sequence[float], percent: int) -> float:
    return ordered[-(-percent * len(ordered) // 100) - 1]
