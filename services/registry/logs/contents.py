"""Parts of objects with log lines, from this machine's disk or the store: those alone that a search looks through, and what was fetched last from memory."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from uuid import UUID

from services.registry.core.logs.lines import Layout, Part, parts_of
from services.registry.links import log_key
from services.registry.logs.shelf import LogShelf
from services.registry.store.log_objects import StoredObject
from shared.errors import NotFound
from shared.objects import ObjectStore, read_all

KEPT_BYTES = 32 * 1024 * 1024
"""Parts that were read last, compressed: who pages through a log reads each once."""
OBJECT_BYTES = 256 * 1024 * 1024
AT_ONCE_BYTES = 4 * 1024 * 1024
"""So much comes by one request at most; of a log that is read line by line no more than a page or two."""
PAGE_BYTES = 128 * 1024
TOGETHER = 8
"""So many neighbours are looked through as one: a pattern is made ready for each anew, which takes a sixth of the time."""
GAP_BYTES = 128 * 1024
"""What lies between two parts comes with them if it is no more: a request for itself takes longer."""


class LogContents:
    """Fetches parts of objects."""

    def __init__(self, objects: ObjectStore, shelf: LogShelf) -> None:
        self._objects = objects
        self._shelf = shelf
        self._kept: OrderedDict[tuple[UUID, int], bytes] = OrderedDict()
        self._kept_bytes = 0

    def has_copy(self, stored: StoredObject) -> bool:
        """Whether it seems to be on this machine's disk."""
        return stored.layout is not None and self._shelf.has(stored.id)

    def copies(self, stored: StoredObject, after: int) -> list[Part] | None:
        """Return what `read` would yield, from the disk, which is waited for; None where it cannot be read there."""
        layout = stored.layout
        if layout is None:
            return None
        together = list(_neighbours(_wanted(stored, after, layout.part_lines, len(layout))))
        spans = [(layout.offsets[some[0]], layout.offsets[some[-1] + 1]) for some in together]
        found = self._shelf.read(stored.id, spans)
        if found is None:
            return None
        firsts = (stored.first + some[0] * layout.part_lines for some in together)
        return [Part(first, content) for first, content in zip(firsts, found, strict=True)]

    async def read(self, stored: StoredObject, after: int, is_choosy: bool) -> AsyncIterator[list[Part]]:
        """Yield the parts in which wanted lines behind a number may be, in order, as they come; none where the object was deleted.

        Neighbours come together, but a few at a time where every line is wanted: the first fill a page.
        """
        try:
            if stored.layout is None:
                content = await read_all(self._objects, _key(stored), OBJECT_BYTES)
                parts = parts_of(stored.first, content)
                part_lines = parts[1].first - stored.first if len(parts) > 1 else stored.lines
                yield [parts[place] for place in _wanted(stored, after, part_lines, len(parts))]
                return
            most_bytes = AT_ONCE_BYTES if is_choosy else PAGE_BYTES
            for run in _runs(stored, stored.layout, after, most_bytes):
                yield await self._run(stored, stored.layout, run)
        except NotFound:
            return

    async def _run(self, stored: StoredObject, layout: Layout, run: list[int]) -> list[Part]:
        """Parts that lie near each other."""
        missing = [place for place in run if (stored.id, place) not in self._kept]
        found = {place: self._kept[stored.id, place] for place in run if place not in missing}
        if missing:
            begin, end = layout.offsets[missing[0]], layout.offsets[missing[-1] + 1]
            pieces = [piece async for piece in self._objects.get(_key(stored), begin, end - begin)]
            fetched = memoryview(b"".join(pieces))
            for place in missing:
                at = layout.offsets[place] - begin
                found[place] = bytes(fetched[at : at + layout.size_bytes(place)])
        for place in run:
            self._keep((stored.id, place), found[place])
        return [
            Part(stored.first + some[0] * layout.part_lines, b"".join(found[place] for place in some))
            for some in _neighbours(run)
        ]

    def _keep(self, name: tuple[UUID, int], content: bytes) -> None:
        if name not in self._kept:
            self._kept[name] = content
            self._kept_bytes += len(content)
        self._kept.move_to_end(name)
        while len(self._kept) > 1 and self._kept_bytes > KEPT_BYTES:
            _, gone = self._kept.popitem(last=False)
            self._kept_bytes -= len(gone)


def _runs(stored: StoredObject, layout: Layout, after: int, most_bytes: int) -> Iterator[list[int]]:
    """The wanted parts in order; those come together that lie near each other, and take no more than that with what lies between."""
    run: list[int] = []
    for place in _wanted(stored, after, layout.part_lines, len(layout)):
        begin, end = layout.offsets[place], layout.offsets[place + 1]
        if run and (
            begin - layout.offsets[run[-1] + 1] > GAP_BYTES or end - layout.offsets[run[0]] > most_bytes
        ):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _neighbours(run: list[int]) -> Iterator[list[int]]:
    some: list[int] = []
    for place in run:
        if some and (place > some[-1] + 1 or len(some) == TOGETHER):
            yield some
            some = []
        some.append(place)
    if some:
        yield some


def _wanted(stored: StoredObject, after: int, part_lines: int, parts: int) -> list[int]:
    """The parts in which something behind that number may be."""
    begin = max(0, after + 1 - stored.first) // part_lines
    return stored.parts_with(begin, parts)


def _key(stored: StoredObject) -> str:
    return log_key(stored.tenant, stored.trial, stored.id)
