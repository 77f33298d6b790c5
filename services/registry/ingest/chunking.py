"""How the points of a batch are stored, and which of them count. Neighbour: `series.packing`, which joins what came in small pieces."""

from collections.abc import Sequence

from services.registry.ingest.store import ChunkRow
from services.registry.series.core.chunks import Columns, roll_up_of, split, to_packed, to_plain
from services.registry.series.core.report_columns import SeriesPoints
from services.registry.series.core.supersede import is_current

PACKED_FROM = 1_000
"""Points of a series in one batch; fewer are joined later."""


def chunks_of(series: int, points: SeriesPoints) -> list[ChunkRow]:
    """What a series' points are stored as: together as they came, or packed where a worker had much to send."""
    if len(points) < PACKED_FROM:
        return [ChunkRow(series, len(points), min(points.steps), max(points.steps), to_plain(points))]
    return [
        ChunkRow(series, len(part), *part.span, to_packed(part), roll_up_of(part))
        for part in split(Columns.of(points).sorted())
    ]


def current_points(points: SeriesPoints, boundary: int | None) -> tuple[Sequence[int], Sequence[float]]:
    """Steps and values of those that no later run makes again."""
    if boundary is None:
        return points.steps, points.values
    places = [place for place, step in enumerate(points.steps) if is_current(step, boundary)]
    return [points.steps[place] for place in places], [points.values[place] for place in places]
