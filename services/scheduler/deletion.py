"""Deletes the scheduler's data of an experiment, workspace or tenant: requests, runs and experiment policies.
Usage is kept without its owner.

Part of `shared.bus.data_deletion`. It runs within a leader's term: memory is cleared first, so that no cycle writes
the data again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Select, Uuid, and_, exists, literal, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from services.scheduler.core.state.records.run import Run
from services.scheduler.core.state.records.trial import Trial
from services.scheduler.cycle import Cycle
from services.scheduler.store.tables import (
    budget,
    budget_notice,
    experiment_policy,
    quota,
    reservation,
    run,
    trial,
    trial_request,
    usage_entry,
)
from shared.bus import Unit
from shared.bus.data_deletion import AT_ONCE, DeleteStatement, DeletionRequest, outbox_of, rows_of
from shared.database.statements import ctid, listed
from shared.database.tables import tables_of
from shared.errors import Transient
from shared.ids import SITE, ExperimentId

CYCLE_TIMEOUT_S = 10.0
NOBODY = UUID(int=0)
"""The experiment id of usage whose experiment was deleted."""


@dataclass(frozen=True, slots=True)
class DeletionOwner:
    """The scheduler's data in a deletion."""

    cycle: Cycle

    async def begin(self, unit: Unit, deletion: DeletionRequest) -> bool:
        """Return whether the deletion may start: every worker has released its slots, and no checkpoint is
        pending."""
        if deletion.scope == "workspace":
            return True
        column = _column(deletion)
        if await unit.connection.scalar(_is_open(column, deletion.target)) or not all(
            map(_is_over, _runs(self.cycle, deletion))
        ):
            return False
        if not all(trial.is_closed and trial.awaited is None for trial in _trials(self.cycle, deletion)):
            return False
        # A worker that reconnects later may still send data of these runs; it is told that they were deleted.
        runs = select(run.c.run).where(run.c[column] == deletion.target)
        mark = insert(tables_of("scheduler").deleted).from_select(["id"], runs).on_conflict_do_nothing()
        await unit.connection.execute(mark)
        return True

    async def empty(self, deletion: DeletionRequest) -> None:
        """Drop the data from the cycle's memory. Raises Transient if no cycle runs in time."""
        if deletion.scope == "workspace":
            return
        forgotten = asyncio.Event()

        def forget(cycle: Cycle) -> None:
            _forget(cycle, deletion)
            forgotten.set()

        self.cycle.push(forget)
        try:
            async with asyncio.timeout(CYCLE_TIMEOUT_S):
                await forgotten.wait()
        except TimeoutError:
            raise Transient(f"the scheduler completed no cycle within {CYCLE_TIMEOUT_S:g} s", 1.0) from None

    def rows(self, deletion: DeletionRequest) -> Sequence[DeleteStatement]:
        """Return the rows to delete. The other rows of a tenant are deleted with its tables by
        `shared.bus.data_deletion`."""
        if deletion.scope == "workspace":
            return _workspace_rows(deletion)
        used = _anonymized(deletion)
        if deletion.scope == "tenant":
            return (used,)
        experiment = deletion.target
        runs = select(run.c.run).where(run.c.experiment == experiment)
        trials = select(trial_request.c.trial).where(trial_request.c.experiment == experiment)
        return (
            used,
            *outbox_of("scheduler", ["run"], runs),
            *outbox_of("scheduler", ["request"], trials),
            *outbox_of("scheduler", ["rank"], select(literal(experiment, Uuid))),
            *(
                rows_of(table, table.c.experiment == experiment)
                for table in (run, trial, trial_request, experiment_policy)
            ),
        )


def _is_open(column: str, target: UUID) -> Select[bool]:
    is_open = or_(
        exists().where(trial.c[column] == target, trial.c.state != "closed"),
        exists().where(run.c[column] == target, run.c.state != "ended"),
        exists().where(usage_entry.c[column] == target, usage_entry.c.until.is_(None)),
    )
    return select(is_open)


def _anonymized(deletion: DeletionRequest) -> DeleteStatement:
    """Keep the usage without its owner."""
    tenant = SITE if deletion.scope == "tenant" else deletion.tenant
    used = usage_entry.c[_column(deletion)] == deletion.target
    some = select(ctid).select_from(usage_entry).where(used).limit(AT_ONCE)
    return update(usage_entry).where(listed(some)).values(owner="", experiment=NOBODY, tenant=tenant)


def _workspace_rows(deletion: DeletionRequest) -> Sequence[DeleteStatement]:
    return [
        rows_of(table, and_(table.c.tenant == deletion.tenant, table.c.workspace == deletion.workspace))
        for table in (quota, budget, budget_notice, reservation)
    ]


def _column(deletion: DeletionRequest) -> str:
    return "tenant" if deletion.scope == "tenant" else "experiment"


def _runs(cycle: Cycle, deletion: DeletionRequest) -> list[Run]:
    return [run for run in cycle.cluster.runs.values() if getattr(run, _column(deletion)) == deletion.target]


def _trials(cycle: Cycle, deletion: DeletionRequest) -> list[Trial]:
    column = _column(deletion)
    return [one for one in cycle.cluster.trials.values() if getattr(one.request, column) == deletion.target]


def _is_over(run: Run) -> bool:
    return run.is_over


def _forget(cycle: Cycle, deletion: DeletionRequest) -> None:
    trials = [trial.id for trial in _trials(cycle, deletion)]
    experiments = {cycle.cluster.trials[trial].request.experiment for trial in trials}
    cycle.cluster.forget(runs=[run.id for run in _runs(cycle, deletion)], trials=trials)
    for one in trials:
        cycle.term.stored_requests.pop(one, None)
        cycle.term.run_traces.pop(one, None)
        cycle.term.refusals.pop(one, None)
    for experiment in experiments | {ExperimentId(deletion.target)}:
        cycle.cluster.policies.pop(experiment, None)
