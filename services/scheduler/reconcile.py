"""Periodic reconciliation: loads what a handler of an earlier leader committed after this leader had read the
tables."""

import asyncio
import contextlib
from datetime import timedelta

from services.scheduler.admin import missed_edits
from services.scheduler.core.reducers import draining, requests
from services.scheduler.core.reducers.workers import on_removed
from services.scheduler.core.state.records.worker import Drain
from services.scheduler.cycle import Cycle
from services.scheduler.handlers import apply_requests
from services.scheduler.store.requests import (
    load_known,
    load_late_versions,
    load_policies,
    load_requests,
    load_settled,
)
from services.scheduler.store.usage_history import drop_usage_entries
from services.scheduler.store.workers import WorkerCommands, load_disabled, load_worker_commands
from shared.clock import Clock
from shared.database.engine import Database
from shared.ids import RunId, TrialId, WorkerId

EVERY_S = 5.0
LATER_S = 20.0
SETTLING_S = 60.0
"""Late commits are likely only shortly after a change of leader; afterwards the loop covers handlers that were
frozen."""
PRUNE_EVERY_S = 3600.0
_PRUNE_PAUSE_S = 0.05


async def reconcile(cycle: Cycle, database: Database, ended: asyncio.Event) -> None:
    """Every few seconds, load late requests, worker commands, checkpoints and policy changes, and drop old
    records from memory."""
    settled_at = cycle.clock.monotonic() + SETTLING_S
    while not ended.is_set():
        pause_s = EVERY_S if cycle.clock.monotonic() < settled_at else LATER_S
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), pause_s)
            return
        await _once(cycle, database)


async def prune(database: Database, clock: Clock, keep: timedelta, ended: asyncio.Event) -> None:
    """Every hour, delete usage entries that ended before the retention period, in small transactions."""
    while not ended.is_set():
        async with database.system() as connection:
            is_more = await drop_usage_entries(connection, clock.now() - keep)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), _PRUNE_PAUSE_S if is_more else PRUNE_EVERY_S)


async def _once(cycle: Cycle, database: Database) -> None:
    cluster = cycle.cluster
    awaited = {a.run for t in cluster.awaiting if (a := cluster.trials[t].awaited) is not None}
    async with database.system() as connection:
        versions = await load_late_versions(connection)
        missed = [trial for trial, version in versions.items() if _is_unknown(cycle, trial, version)]
        late = await load_requests(connection, missed) if missed else []
        known = await load_known(connection, [one.request.trial for one in late]) if late else {}
        policies = await load_policies(connection, {one.request.experiment for one in late}) if late else {}
        settled = await load_settled(connection, awaited) if awaited else {}
        workers = await load_worker_commands(connection)
        disabled = await load_disabled(connection)
        edits = cycle.edits
        rules = await missed_edits.load_rules(connection, cluster, cycle.clock.now())

    def take_up(cycle: Cycle) -> None:
        for experiment, policy in policies.items():
            if experiment not in cycle.cluster.policies:
                cycle.cluster.put_experiment_policy(experiment, policy)
        for trial in known.values():
            if trial.id not in cycle.cluster.trials and trial.is_closed:
                cycle.cluster.put_trial(trial, lazily=True)
        apply_requests(cycle, late)
        _raise_settled(cycle, settled)
        for commands in workers:
            _catch_up(cycle, commands)
        _disable(cycle, disabled)
        cycle.forget_old()

    cycle.push(take_up)
    take_up_rules(cycle, rules, edits)


def take_up_rules(cycle: Cycle, rules: missed_edits.StoredRules, edits: int) -> None:
    """Apply policies read from the tables, unless an edit arrived since the read: the data may then be older,
    and the next pass reads it again."""
    if cycle.edits == edits:
        cycle.push(lambda cycle: missed_edits.apply_rules(cycle.cluster, rules))


def _is_unknown(cycle: Cycle, trial: TrialId, version: int) -> bool:
    known = cycle.cluster.trials.get(trial)
    return known is None or known.request.version < version


def _raise_settled(cycle: Cycle, settled: dict[RunId, int]) -> None:
    for run_id, count in settled.items():
        run = cycle.cluster.runs.get(run_id)
        if run is not None and count > run.progress.settled:
            cycle.cluster.apply(
                requests.on_settled(cycle.cluster, run_id, cycle.clock.now(), count - run.progress.settled)
            )


def _catch_up(cycle: Cycle, commands: WorkerCommands) -> None:
    """Drain, open or remove a worker unless that has happened already."""
    cluster = cycle.cluster
    worker = cluster.workers.get(commands.worker)
    if worker is None:
        return
    if commands.is_removed:
        cluster.apply(on_removed(cluster, worker.id, cycle.clock.now()))
    elif commands.drain is (worker.drain is Drain.OPEN):
        cluster.apply(
            draining.on_drain(cluster, worker.id, reclaim=commands.reclaim, undo=not commands.drain)
        )


def _disable(cycle: Cycle, disabled: dict[WorkerId, frozenset[int]]) -> None:
    for worker in list(cycle.cluster.workers.values()):
        wanted = disabled.get(worker.id, frozenset())
        for slot in sorted(worker.disabled ^ wanted):
            cycle.cluster.apply(draining.on_slot(cycle.cluster, worker.id, slot, undo=slot not in wanted))
