"""Measures how long runs do not train: from the preemption signal to the end, from the grant to the first step,
and while a gang re-forms."""

from collections.abc import Iterable
from datetime import datetime

from services.scheduler.core.reducers.draft import Draft
from services.scheduler.core.state.changes import Changes
from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.indexes.pause_durations import Kind
from services.scheduler.core.state.indexes.queue import milliseconds
from services.scheduler.core.state.records.run import PauseTimes, Run
from shared.ids import ExperimentId, RunId, derived_id
from shared.tuples import changed


def asked(run: Run, now_ms: int) -> PauseTimes:
    """Record that the run was just asked for its slots."""
    return run.pause_times._replace(asked_ms=now_ms)


def left(draft: Draft, run: Run, now: datetime) -> Run:
    """Record that the run has ended. Runs that were not asked for their slots are not measured."""
    if not run.pause_times.asked_ms:
        return run
    leave_ms = milliseconds(now) - run.pause_times.asked_ms
    draft.learn_pause(run.experiment, "leave", leave_ms)
    return changed(run, pause_times=run.pause_times._replace(leave_ms=leave_ms))


def trained(draft: Draft, run: Run, now: datetime) -> Run:
    """Record a run's first step. The time that the previous run took to end is included if it is still known."""
    if run.number == 1 or run.progress.step or run.pause_times.restart_ms:
        return run
    before = draft.cluster.runs.get(RunId(derived_id(run.trial, "run", run.number - 1)))
    leave_ms = before.pause_times.leave_ms if before else 0
    restart_ms = milliseconds(now) - milliseconds(run.granted_at) + leave_ms
    draft.learn_pause(run.experiment, "restart", restart_ms)
    return changed(run, pause_times=run.pause_times._replace(restart_ms=restart_ms))


def formed(draft: Draft, run: Run, now: datetime) -> Run:
    """Record that the re-formed gang trains."""
    if run.gang.since is None:
        return run
    reform_ms = milliseconds(now) - milliseconds(run.gang.since)
    draft.learn_pause(run.experiment, "reform", reform_ms)
    return changed(run, pause_times=run.pause_times._replace(reform_ms=reform_ms))


def on_term(cluster: Cluster, before: Iterable[tuple[ExperimentId, PauseTimes]]) -> Changes:
    """Load the stored measurements at the start of a term, oldest first, for experiments with open requests."""
    draft = Draft(cluster)
    for experiment, times in before:
        if experiment in cluster.live:
            measured: tuple[tuple[Kind, int], ...] = (
                ("leave", times.leave_ms),
                ("restart", times.restart_ms),
                ("reform", times.reform_ms),
            )
            for kind, ms in measured:
                if ms:
                    draft.learn_pause(experiment, kind, ms)
    return draft
