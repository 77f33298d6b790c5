"""Learning curves of runs of the same code: their times and validations."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Row, Select, func, select, true
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import runs, trials, validations
from shared.ids import ExperimentId, TrialId
from shared.messages.plans import EarlierRun

MOST_RUNS = 120
MOST_VALIDATIONS = 50
"""Per run; from more, this many are selected at even distances, including the first and the last."""


class _Validation(NamedTuple):
    time: float
    at_ms: int
    value: float


async def load_earlier(
    connection: AsyncConnection, code_hash: str, metric: str, time_metric: str | None
) -> list[EarlierRun]:
    """Return the newest runs of the connection's tenant that have ended with a validation, oldest first.

    Args:
        time_metric: None: the step is the time. Validations without it are left out; without the metric they count as NaN.
    """
    of_run = _of_run(metric, time_metric).lateral("of_run")
    newest = (
        select(
            *(runs.c.trial, runs.c.experiment, runs.c.number, trials.c.hyperparameters, runs.c.slots),
            *(runs.c.granted_at, runs.c.ended_at, runs.c.outcome, of_run),
        )
        .select_from(runs.join(trials, trials.c.id == runs.c.trial).join(of_run, true()))
        .where(trials.c.code_hash == code_hash, of_run.c.steps.is_not(None))
        .where(runs.c.granted_at.is_not(None), runs.c.ended_at.is_not(None))
        .order_by(runs.c.ended_at.desc(), runs.c.id)
        .limit(MOST_RUNS)
    )
    rows = (await connection.execute(newest)).all()
    return [_run(row, kept) for row in reversed(rows) if (kept := _thinned(_validations(row, time_metric)))]


def _of_run(metric: str, time_metric: str | None) -> Select[*tuple[Any, ...]]:
    """Select a run's validations, each column as an array."""
    values = validations.c["values"]
    columns = {
        "steps": validations.c.step,
        "at_ms": validations.c.time_ms,
        "metrics": values[metric].astext,
        "times": values[time_metric or metric].astext,
    }
    arrays = (
        func.array_agg(aggregate_order_by(column, validations.c.number)).label(name)
        for name, column in columns.items()
    )
    return select(*arrays).where(validations.c.run == runs.c.id).correlate(runs)


def _validations(row: Row[Any], time_metric: str | None) -> list[_Validation]:
    times = row.steps if time_metric is None else row.times
    found = zip(times, row.at_ms, row.metrics, strict=True)
    validations = [_Validation(_number(time), at_ms, _number(value)) for time, at_ms, value in found]
    return [one for one in validations if math.isfinite(one.time)]


def _thinned(validations: Sequence[_Validation]) -> Sequence[_Validation]:
    last = len(validations) - 1
    if last < MOST_VALIDATIONS:
        return validations
    indices = (round(number * last / (MOST_VALIDATIONS - 1)) for number in range(MOST_VALIDATIONS))
    return [validations[index] for index in indices]


def _run(row: Row[Any], validations: Sequence[_Validation]) -> EarlierRun:
    times, at_ms, values = zip(*validations, strict=True)
    return EarlierRun(
        trial_id=TrialId(row.trial),
        experiment_id=ExperimentId(row.experiment),
        number=row.number,
        hyperparameters=row.hyperparameters,
        slots=row.slots,
        granted_at=row.granted_at,
        ended_at=row.ended_at,
        outcome=row.outcome,
        times=times,
        at_ms=at_ms,
        values=values,
    )


def _number(text: str | int | None) -> float:
    """Parse a number. JSON has no NaN and no infinities: they are stored as texts."""
    return math.nan if text is None else float(text)
