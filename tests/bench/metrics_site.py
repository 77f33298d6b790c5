"""Part of `metrics_query`: the metrics of ten thousand trials, written straight into the registry's tables.

What a site has that ran for a while: one experiment, whose trials each reported two training metrics at every step and two
validation metrics at every fourth. Some 15 seconds for 20 million points; without the points, but with all summaries, five.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from uuid import UUID

import asyncpg
import numpy as np
import orjson

from services.registry.series.core.chunks import Columns, roll_up_of, split, to_packed
from services.registry.series.core.summary import summarise_sorted
from shared.clock import SystemClock
from shared.database.partitions import partition_name
from shared.ids import DEFAULT_TENANT, TenantId, derived_id, new_id

EVERY = 4
"""A validation follows so many steps."""
METRICS = (("training", "accuracy"), ("training", "loss"), ("validation", "accuracy"), ("validation", "loss"))
TRIALS_AT_ONCE = 250
_BEGAN_MS = 1_790_000_000_000
_SEED = 7
_CLOCK = SystemClock()

Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Site:
    """What was stored. `points` counts all that were reported, whether they were stored or only summed up."""

    experiment: UUID
    trials: tuple[UUID, ...]
    points: int
    tenant: TenantId = DEFAULT_TENANT


async def fill(
    connection: asyncpg.Connection,
    trials: int = 10_000,
    points: int = 20_000_000,
    *,
    with_points: bool = True,
) -> Site:
    """Store a site of its own, which others may stand beside; the registry's tables and today's partitions exist.

    Args:
        connection: The administrator's, to the database itself: it passes row-level security.
        points: Of all trials together, about.
        with_points: False: only what there is one row of for a metric.
    """
    experiment = new_id(_CLOCK)
    ids = tuple(derived_id(experiment, "trial", number) for number in range(trials))
    steps = max(EVERY, round(points / trials / (2 + 2 / EVERY)) // EVERY * EVERY)
    first = await connection.fetchval("SELECT coalesce(max(id), 0) + 1 FROM registry.series")
    generator = np.random.default_rng(_SEED)
    await connection.execute(
        "INSERT INTO registry.experiment (id, tenant, is_final, final_at, collected_at) VALUES ($1, $2, true, now(), now())",
        experiment,
        DEFAULT_TENANT,
    )
    for at in range(0, trials, TRIALS_AT_ONCE):
        parts = [
            _Trial(number, experiment, steps, generator)
            for number in range(at, min(at + TRIALS_AT_ONCE, trials))
        ]
        await _copy(connection, "trial", [part.trial() for part in parts], _TRIAL)
        await _copy(connection, "run", [part.run() for part in parts], _RUN)
        numbered = [(first + (at + place) * len(METRICS), part) for place, part in enumerate(parts)]
        await _copy(
            connection, "series", [row for series, part in numbered for row in part.series(series)], _SERIES
        )
        if with_points:
            day = _CLOCK.now().date()
            rows = [row for series, part in numbered for row in part.chunks(day, series)]
            await _copy(connection, partition_name("point_chunk", day), rows, _CHUNK)
    await connection.execute(
        "SELECT setval(pg_get_serial_sequence('registry.series', 'id'), max(id)) FROM registry.series"
    )
    # As autovacuum will have done on any site that is not new.
    for table in ("trial", "run", "series", "point_chunk"):
        await connection.execute(f"VACUUM ANALYZE registry.{table}")
    return Site(experiment, ids, trials * (2 * steps + 2 * (steps // EVERY)))


class _Trial:
    """One trial of one run: what it reported, and the rows of it."""

    def __init__(self, number: int, experiment: UUID, steps: int, generator: np.random.Generator) -> None:
        trial = derived_id(experiment, "trial", number)
        self._number = number
        self._ids = trial, experiment, derived_id(trial, "run", 1)
        magnitude = float(generator.uniform(-5, -1))
        self._hyperparameters = {
            "lr": 10**magnitude,
            "width": int(generator.choice([32, 64, 128, 256])),
            "optimizer": str(generator.choice(["adam", "sgd", "lion"])),
            "dropout": round(float(generator.uniform(0, 0.5)), 3),
        }
        at = np.arange(1, steps + 1)
        floor = 0.2 + 0.1 * abs(magnitude + 3) + generator.normal(0, 0.02)
        loss = floor + 2 * np.exp(-5 * at / steps) + generator.normal(0, 0.02, steps)
        times = _BEGAN_MS + np.cumsum(generator.integers(80, 140, steps))
        self._curves = dict(zip(METRICS, _curves(at, times, loss), strict=True))

    def trial(self) -> tuple[object, ...]:
        trial, experiment, _ = self._ids
        known = orjson.dumps(self._hyperparameters).decode()
        facts = known, "0" * 64, "loss", True, True, _CLOCK.now(), self._number, "completed", _CLOCK.now()
        return trial, DEFAULT_TENANT, experiment, *facts

    def run(self) -> tuple[object, ...]:
        trial, experiment, run = self._ids
        now = _CLOCK.now()
        return run, DEFAULT_TENANT, trial, experiment, 1, 1, "ordinary", now, True, now, 1.0, "completed"

    def series(self, first: int) -> Iterator[tuple[object, ...]]:
        trial, experiment, run = self._ids
        for number, ((group, name), curve) in enumerate(self._curves.items(), start=first):
            summary = summarise_sorted(curve.steps, curve.values)
            assert summary is not None
            summed = (
                summary.count,
                summary.finite,
                summary.least,
                summary.greatest,
                summary.total,
                summary.last,
            )
            yield (
                number,
                DEFAULT_TENANT,
                experiment,
                trial,
                run,
                group,
                name,
                *summed,
                summary.last_step,
                summary.first_step,
            )

    def chunks(self, day: date, first: int) -> Iterator[tuple[object, ...]]:
        for number, curve in enumerate(self._curves.values(), start=first):
            for part in split(curve):
                yield day, DEFAULT_TENANT, number, len(part), *part.span, to_packed(part), roll_up_of(part)


def _curves(
    at: np.ndarray[tuple[int], np.dtype[np.int64]],
    times: np.ndarray[tuple[int], np.dtype[np.int64]],
    loss: Floats,
) -> Iterator[Columns]:
    """In the order of `METRICS`; a validation is a little worse than what was trained with."""
    training = Columns(at, at, times, loss)
    validated = Columns(at, at, times, loss * 1.05).take(slice(EVERY - 1, None, EVERY))
    for curve in (training, validated):
        yield Columns(curve.seqs, curve.steps, curve.times_ms, np.exp(-curve.values))
        yield curve


async def _copy(
    connection: asyncpg.Connection, table: str, rows: list[tuple[object, ...]], columns: str
) -> None:
    await connection.copy_records_to_table(
        table, schema_name="registry", columns=columns.split(), records=rows
    )


_TRIAL = "id tenant experiment hyperparameters code_hash metric smaller_is_better is_final final_at number state created_at"
_RUN = "id tenant trial experiment number token termination ended_at is_settled granted_at slots outcome"
_SERIES = (
    "id tenant experiment trial run group name count finite least greatest total last last_step first_step"
)
_CHUNK = "day tenant series count first_step last_step body rolled_up"
