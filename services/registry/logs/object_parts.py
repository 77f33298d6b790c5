"""Parts of objects with log lines, as a search reads them: those alone that may hold what is looked for."""

from collections.abc import AsyncIterator, Iterator

from services.registry.logs.core.lines import Layout, ObjectPart, parts_of
from services.registry.logs.store.objects import StoredObject
from services.registry.storage.links import log_key
from shared.objects import ObjectStore, read_all

OBJECT_BYTES = 256 * 1024 * 1024
PAGE_BYTES = 128 * 1024
"""So much comes by the first request: what is common is found there."""
SEARCHED_BYTES = 4 * 1024 * 1024
"""So much comes by each further request of a search at most."""
TOGETHER = 8
"""So many parts are looked through at one go, some 1 MiB of text: more does not stay in a processor's cache."""


async def read_parts(
    objects: ObjectStore, stored: StoredObject, after: int, most_bytes: int
) -> AsyncIterator[ObjectPart]:
    """Yield the parts in which wanted lines behind a number may be, in order, neighbours together.

    Raises:
        NotFound: the object was deleted.
    """
    key = log_key(stored.tenant, stored.trial, stored.id)
    layout = stored.layout
    if layout is None:
        parts = parts_of(stored.first, await read_all(objects, key, OBJECT_BYTES))
        part_lines = parts[1].first - stored.first if len(parts) > 1 else stored.lines
        for place in stored.parts_behind(after, part_lines, len(parts)):
            yield parts[place]
        return
    for begin, end in _spans(stored, layout, after, most_bytes):
        first_byte, end_byte = layout.offsets[begin], layout.offsets[end]
        fetched = b"".join([piece async for piece in objects.get(key, first_byte, end_byte - first_byte)])
        for at in range(begin, end, TOGETHER):
            of_some = [layout.offsets[place] - first_byte for place in (at, min(at + TOGETHER, end))]
            yield ObjectPart(stored.first + at * layout.part_lines, fetched[slice(*of_some)])


def _spans(stored: StoredObject, layout: Layout, after: int, most_bytes: int) -> Iterator[tuple[int, int]]:
    """Neighbours among the parts, from one to before another, no larger than that unless it is one alone."""
    begin = end = 0
    size = PAGE_BYTES
    for place in stored.parts_behind(after, layout.part_lines, len(layout)):
        is_large = layout.offsets[place + 1] - layout.offsets[begin] > size
        if begin < end and (place > end or is_large):
            yield begin, end
            begin, size = end, most_bytes
        if begin == end:
            begin = place
        end = place + 1
    if begin < end:
        yield begin, end
