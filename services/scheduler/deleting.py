"""The scheduler's part in deletions: requests, runs and an experiment's part in the queue go; what was used stays, as nobody's.

Neighbour: `shared.deleting`. It runs within a leader's term: memory forgets first, so that no cycle writes any of it again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from services.scheduler.core.run import Run
from services.scheduler.core.trial import Trial
from services.scheduler.cycle import Cycle
from shared.bus import Unit
from shared.deleting import Doomed, Rows, outbox_of, rows_of
from shared.driver import Driver
from shared.errors import Transient
from shared.ids import SITE, ExperimentId, RunId

TURN_S = 10.0
NOBODY = UUID(int=0)
"""Stands for the experiment of what a deleted one used."""
_OPEN = """
SELECT EXISTS (SELECT FROM scheduler.trial WHERE {0} = $1 AND state <> 'closed')
    OR EXISTS (SELECT FROM scheduler.run WHERE {0} = $1 AND state <> 'ended')
    OR EXISTS (SELECT FROM scheduler.holding WHERE {0} = $1 AND until IS NULL) AS is_open
"""
_GONE = "INSERT INTO scheduler.gone (id) SELECT run FROM scheduler.run WHERE {0} = $1 ON CONFLICT DO NOTHING"
_RUNS, _TRIALS = (
    "SELECT run FROM scheduler.run WHERE experiment = $1",
    "SELECT trial FROM scheduler.wanted WHERE experiment = $1",
)
_OF_NOBODY = """
UPDATE scheduler.holding SET owner = '', experiment = $2, tenant = $3
WHERE ctid = ANY(ARRAY(SELECT ctid FROM scheduler.holding WHERE {0} = $1 LIMIT 2000))
"""


@dataclass(frozen=True, slots=True)
class Estate:
    """What the scheduler has of what is to go."""

    cycle: Cycle

    async def begin(self, unit: Unit, doomed: Doomed) -> bool:
        """Only once every machine has let go of it, and nobody waits for its checkpoints."""
        if doomed.scope == "workspace":
            return True
        column = _column(doomed)
        driver = Driver.of(unit.connection)
        found = await driver.fetch(_OPEN.format(column), doomed.target)
        if found[0]["is_open"] or not all(map(_is_over, _runs(self.cycle, doomed))):
            return False
        if not all(trial.is_closed and trial.awaited is None for trial in _trials(self.cycle, doomed)):
            return False
        # A machine that was away sends what it has of a run that nobody knows any more: it is told so.
        await driver.fetch(_GONE.format(column), doomed.target)
        return True

    async def empty(self, doomed: Doomed) -> None:
        """Has the cycle's memory forget. Raises Transient where no turn came."""
        if doomed.scope == "workspace":
            return
        forgotten = asyncio.Event()

        def forget(cycle: Cycle) -> None:
            _forget(cycle, doomed)
            forgotten.set()

        self.cycle.push(forget)
        try:
            async with asyncio.timeout(TURN_S):
                await forgotten.wait()
        except TimeoutError:
            raise Transient("the scheduler's cycle has not turned", 1.0) from None

    def rows(self, doomed: Doomed) -> Sequence[Rows]:
        """Of a tenant the rest goes with its tables, which `shared.deleting` knows."""
        if doomed.scope == "workspace":
            return _workspace_rows(doomed)
        used = Rows(
            _OF_NOBODY.format(_column(doomed)),
            (doomed.target, NOBODY, SITE if doomed.scope == "tenant" else doomed.tenant),
        )
        if doomed.scope == "tenant":
            return (used,)
        experiment = doomed.target
        return (
            used,
            *outbox_of("scheduler", ["run"], _RUNS, experiment),
            *outbox_of("scheduler", ["request"], _TRIALS, experiment),
            *outbox_of("scheduler", ["rank"], "SELECT $1::uuid", experiment),
            rows_of("scheduler.run", "experiment = $1", experiment),
            rows_of("scheduler.trial", "experiment = $1", experiment),
            rows_of("scheduler.wanted", "experiment = $1", experiment),
            rows_of("scheduler.part", "experiment = $1", experiment),
        )


async def is_deleted(driver: Driver, run: RunId) -> bool:
    """Whether the run was one of what was deleted."""
    return bool(await driver.fetch("SELECT FROM scheduler.gone WHERE id = $1", run))


def _workspace_rows(doomed: Doomed) -> Sequence[Rows]:
    given = doomed.tenant, doomed.workspace
    tables = ("quota", "budget", "budget_told", "reservation")
    return [rows_of(f"scheduler.{table}", "tenant = $1 AND workspace = $2", *given) for table in tables]


def _column(doomed: Doomed) -> str:
    return "tenant" if doomed.scope == "tenant" else "experiment"


def _runs(cycle: Cycle, doomed: Doomed) -> list[Run]:
    return [run for run in cycle.cluster.runs.values() if getattr(run, _column(doomed)) == doomed.target]


def _trials(cycle: Cycle, doomed: Doomed) -> list[Trial]:
    column = _column(doomed)
    return [one for one in cycle.cluster.trials.values() if getattr(one.wish, column) == doomed.target]


def _is_over(run: Run) -> bool:
    return run.is_ended and run.released >= run.workers


def _forget(cycle: Cycle, doomed: Doomed) -> None:
    trials = [trial.id for trial in _trials(cycle, doomed)]
    experiments = {cycle.cluster.trials[trial].wish.experiment for trial in trials}
    cycle.cluster.forget(runs=[run.id for run in _runs(cycle, doomed)], trials=trials)
    for trial in trials:
        cycle.term.carried.pop(trial, None)
        cycle.term.run_traces.pop(trial, None)
        cycle.term.refusals.pop(trial, None)
    for experiment in experiments | {ExperimentId(doomed.target)}:
        cycle.cluster.parts.pop(experiment, None)
