"""Reads the parts of log objects that may contain what a search looks for."""

from collections.abc import AsyncIterator, Iterator

from services.registry.logs.core.line_columns import Layout, ObjectPart, parts_of
from services.registry.logs.store.objects import StoredObject
from services.registry.storage.links import log_key
from shared.objects import ObjectStore, read_all

OBJECT_BYTES = 256 * 1024 * 1024
PAGE_BYTES = 128 * 1024
"""Size of the first request; frequent matches are found there."""
SEARCHED_BYTES = 4 * 1024 * 1024
"""Maximum size of each further request of a search."""
TOGETHER = 8
"""Parts matched at once, about 1 MiB of text: more does not fit into a processor's cache."""


async def read_parts(
    objects: ObjectStore, stored: StoredObject, after: int, most_bytes: int
) -> AsyncIterator[ObjectPart]:
    """Yield the parts that may contain wanted lines after a number, in order; neighbouring parts are fetched together.

    Raises:
        NotFound: The object was deleted.
    """
    key = log_key(stored.tenant, stored.trial, stored.id)
    layout = stored.layout
    if layout is None:
        parts = parts_of(stored.first, await read_all(objects, key, OBJECT_BYTES))
        part_lines = parts[1].first - stored.first if len(parts) > 1 else stored.lines
        for index in stored.parts_behind(after, part_lines, len(parts)):
            yield parts[index]
        return
    for begin, end in _spans(stored, layout, after, most_bytes):
        first_byte, end_byte = layout.offsets[begin], layout.offsets[end]
        fetched = b"".join([piece async for piece in objects.get(key, first_byte, end_byte - first_byte)])
        for at in range(begin, end, TOGETHER):
            of_some = [layout.offsets[index] - first_byte for index in (at, min(at + TOGETHER, end))]
            yield ObjectPart(stored.first + at * layout.part_lines, fetched[slice(*of_some)])


def _spans(stored: StoredObject, layout: Layout, after: int, most_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of neighbouring parts, no larger than the limit unless a range is a single part."""
    begin = end = 0
    size = PAGE_BYTES
    for index in stored.parts_behind(after, layout.part_lines, len(layout)):
        is_large = layout.offsets[index + 1] - layout.offsets[begin] > size
        if begin < end and (index > end or is_large):
            yield begin, end
            begin, size = end, most_bytes
        if begin == end:
            begin = index
        end = index + 1
    if begin < end:
        yield begin, end
