"""Points of a series as the registry takes them in, from rows as a test writes them."""

from collections.abc import Iterable

from services.registry.series.core.report_columns import SeriesPoints

Row = tuple[int, int, int, float]
"""Record number, step, milliseconds, value."""


def arrived(rows: Iterable[Row]) -> SeriesPoints:
    """Put rows into columns."""
    points = SeriesPoints()
    for seq, step, time_ms, value in rows:
        points.seqs.append(seq)
        points.steps.append(step)
        points.times_ms.append(time_ms)
        points.values.append(value)
    return points
