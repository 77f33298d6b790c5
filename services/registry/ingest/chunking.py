"""How the points of a batch are stored, and which of them count. `series.packing` merges small chunks later."""

from collections.abc import Sequence

from services.registry.ingest.store import ChunkRow
from services.registry.series.core.chunks import Columns, roll_up_of, split, to_packed, to_plain
from services.registry.series.core.report_columns import SeriesPoints
from services.registry.series.core.superseded_points import is_current

PACKED_FROM = 1_000
"""Points of a series in one batch; smaller groups are merged later."""


def chunks_of(series: int, points: SeriesPoints) -> list[ChunkRow]:
    """Return the chunks of a series' points: one plain chunk, or packed ones for a large group."""
    if len(points) < PACKED_FROM:
        return [ChunkRow(series, len(points), min(points.steps), max(points.steps), to_plain(points))]
    return [
        ChunkRow(series, len(part), *part.span, to_packed(part), roll_up_of(part))
        for part in split(Columns.of(points).sorted())
    ]


def current_points(points: SeriesPoints, boundary: int | None) -> tuple[Sequence[int], Sequence[float]]:
    """Return steps and values of the points that no later run superseded."""
    if boundary is None:
        return points.steps, points.values
    current = [index for index, step in enumerate(points.steps) if is_current(step, boundary)]
    return [points.steps[index] for index in current], [points.values[index] for index in current]
