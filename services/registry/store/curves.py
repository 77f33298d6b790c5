"""How runs of the same code went: when they had their slots, and their validations."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from shared.driver import Driver, Row
from shared.ids import ExperimentId, TrialId
from shared.messages.plans import EarlierRun

MOST_RUNS = 120
MOST_VALIDATIONS = 50
"""Of a run; of more, so many are taken at even distances, the first and the last among them."""


class _Validation(NamedTuple):
    time: float
    at_ms: int
    value: float


async def load_earlier(
    driver: Driver, code_hash: str, metric: str, time_metric: str | None
) -> list[EarlierRun]:
    """The newest runs of the connection's tenant that have ended with a validation, oldest first.

    Args:
        time_metric: None: the step is the time. Validations without it are left out; without the metric they count as NaN.
    """
    rows = await driver.fetch(_EARLIER, code_hash, metric, time_metric, MOST_RUNS)
    return [_run(row, kept) for row in reversed(rows) if (kept := _thinned(_validations(row, time_metric)))]


def _validations(row: Row, time_metric: str | None) -> list[_Validation]:
    times = row["steps"] if time_metric is None else row["times"]
    found = zip(times, row["at_ms"], row["metrics"], strict=True)
    validations = [_Validation(_number(time), at_ms, _number(value)) for time, at_ms, value in found]
    return [one for one in validations if math.isfinite(one.time)]


def _thinned(validations: Sequence[_Validation]) -> Sequence[_Validation]:
    last = len(validations) - 1
    if last < MOST_VALIDATIONS:
        return validations
    places = (round(place * last / (MOST_VALIDATIONS - 1)) for place in range(MOST_VALIDATIONS))
    return [validations[place] for place in places]


def _run(row: Row, validations: Sequence[_Validation]) -> EarlierRun:
    times, at_ms, values = zip(*validations, strict=True)
    return EarlierRun(
        trial_id=TrialId(row["trial"]),
        experiment_id=ExperimentId(row["experiment"]),
        number=row["number"],
        hyperparameters=row["hyperparameters"],
        slots=row["slots"],
        granted_at=row["granted_at"],
        ended_at=row["ended_at"],
        outcome=row["outcome"],
        times=times,
        at_ms=at_ms,
        values=values,
    )


def _number(text: str | int | None) -> float:
    """JSON has no NaN and no infinities: they are stored as texts."""
    return math.nan if text is None else float(text)


_EARLIER = """
SELECT r.trial, r.experiment, r.number, t.hyperparameters, r.slots, r.granted_at, r.ended_at, r.outcome, v.*
FROM registry.runs r
JOIN registry.trials t ON t.id = r.trial
CROSS JOIN LATERAL (
    SELECT array_agg(step ORDER BY number) AS steps, array_agg(time_ms ORDER BY number) AS at_ms,
           array_agg("values" ->> $2 ORDER BY number) AS metrics, array_agg("values" ->> $3 ORDER BY number) AS times
    FROM registry.validations WHERE run = r.id
) v
WHERE t.code_hash = $1 AND r.granted_at IS NOT NULL AND r.ended_at IS NOT NULL AND v.steps IS NOT NULL
ORDER BY r.ended_at DESC, r.id
LIMIT $4
"""
