"""The moments at which a run is asked for its slots, ends, trains again and has formed anew: what lies between them is learned."""

from collections.abc import Iterable
from datetime import datetime

from services.scheduler.core.cluster import Cluster
from services.scheduler.core.pauses import Kind, Took
from services.scheduler.core.queue import milliseconds
from services.scheduler.core.run import Run
from shared.ids import ExperimentId, RunId, derived_id
from shared.tuples import changed


def asked(cluster: Cluster, run: Run) -> Run:
    """It was asked for its slots just now."""
    return changed(run, took=run.took._replace(asked_ms=cluster.now_ms))


def left(cluster: Cluster, run: Run, now: datetime) -> Run:
    """It has ended; of one that was not asked nothing is learned."""
    if not run.took.asked_ms:
        return run
    leave_ms = milliseconds(now) - run.took.asked_ms
    _learn(cluster, run.experiment, "leave", leave_ms)
    return changed(run, took=run.took._replace(leave_ms=leave_ms))


def trained(cluster: Cluster, run: Run, now: datetime) -> Run:
    """Its first step was heard of. What the end of the run before it took counts too, where that is still known."""
    if run.number == 1 or run.progress.step or run.took.restart_ms:
        return run
    before = cluster.runs.get(RunId(derived_id(run.trial, "run", run.number - 1)))
    leave_ms = before.took.leave_ms if before else 0
    restart_ms = milliseconds(now) - milliseconds(run.granted_at) + leave_ms
    _learn(cluster, run.experiment, "restart", restart_ms)
    return changed(run, took=run.took._replace(restart_ms=restart_ms))


def formed(cluster: Cluster, run: Run, now: datetime) -> Run:
    """The gang that it has formed trains."""
    if run.gang.since is None:
        return run
    reform_ms = milliseconds(now) - milliseconds(run.gang.since)
    _learn(cluster, run.experiment, "reform", reform_ms)
    return changed(run, took=run.took._replace(reform_ms=reform_ms))


def remember(cluster: Cluster, before: Iterable[tuple[ExperimentId, Took]]) -> None:
    """What runs had measured when this leader began, the oldest first; only experiments that go on are of interest."""
    for experiment, took in before:
        if experiment in cluster.live:
            measured: tuple[tuple[Kind, int], ...] = (
                ("leave", took.leave_ms),
                ("restart", took.restart_ms),
                ("reform", took.reform_ms),
            )
            for kind, ms in measured:
                if ms:
                    _learn(cluster, experiment, kind, ms)


def _learn(cluster: Cluster, experiment: ExperimentId, kind: Kind, took_ms: int) -> None:
    if cluster.pauses.add(experiment, kind, max(1, took_ms)):
        cluster.reckon(experiment)
