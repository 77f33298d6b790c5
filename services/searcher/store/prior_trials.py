"""Read results of earlier experiments as prior observations."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Double, Integer, case, cast, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from services.searcher.core.experiment.states import TrialState
from services.searcher.core.search.prior_observations import PriorExperiment, PriorTrial
from services.searcher.store.tables import experiment, journal, trial

MOST_TRIALS = 2000
"""Most trials read of an experiment: those that ran to their end, then those that came furthest."""
_GOOD = (TrialState.COMPLETED.value, TrialState.STOPPED.value)


async def load_earlier(
    connection: AsyncConnection, workspace: str, numbers: Sequence[int]
) -> dict[int, PriorExperiment]:
    """Return those of these experiments that belong to the workspace, by number, with their trials that have results."""
    found = await connection.execute(
        select(
            experiment.c.id,
            experiment.c.number,
            func.coalesce(
                experiment.c.config["searcher"]["metric"].astext,
                experiment.c.config["searcher"]["metrics"][0]["name"].astext,
            ).label("metric"),
            experiment.c.config["searcher"]["time_metric"].astext.label("time_metric"),
        ).where(experiment.c.number.in_(numbers), experiment.c.workspace == workspace)
    )
    return {
        row.number: PriorExperiment(
            row.number, row.metric, row.time_metric, await _load_trials(connection, row.id, row.number)
        )
        for row in found.all()
    }


async def _load_trials(
    connection: AsyncConnection, experiment_id: Any, number: int
) -> tuple[PriorTrial, ...]:
    found = await connection.execute(
        select(trial.c.number, trial.c.point, trial.c.best_value, trial.c.best_others, trial.c.state)
        .where(trial.c.experiment == experiment_id, trial.c.state.in_(_GOOD), trial.c.best_value.is_not(None))
        .order_by(case((trial.c.state == _GOOD[0], 0), else_=1), trial.c.latest_step.desc(), trial.c.number)
        .limit(MOST_TRIALS)
    )
    rows = found.all()
    stopped = [row.number for row in rows if row.state == TrialState.STOPPED.value]
    judged = await _load_judged(connection, experiment_id, stopped) if stopped else {}
    known: list[PriorTrial] = []
    for row in rows:
        value, time = judged.get(row.number, (row.best_value, None))
        others = {name: float(other) for name, other in (row.best_others or {}).items()}
        known.append(PriorTrial(number, row.number, row.point, value, time, others))
    return tuple(known)


async def _load_judged(
    connection: AsyncConnection, experiment_id: Any, trials: Sequence[int]
) -> dict[int, tuple[float, float]]:
    """Return the last decision about each of these trials."""
    facts = journal.c.facts
    of = facts["trial"]
    number = cast(of.astext, Integer)
    query = (
        select(
            number.label("trial"),
            cast(facts["value"].astext, Double).label("value"),
            cast(facts["time"].astext, Double).label("time"),
        )
        .ext(distinct_on(of))
        .where(journal.c.experiment == experiment_id, journal.c.kind == "judged", number.in_(trials))
        .order_by(of, journal.c.position.desc())
    )
    found = await connection.execute(query)
    return {row.trial: (row.value, row.time) for row in found if row.value is not None}
