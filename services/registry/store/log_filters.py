"""Filters that several objects with log lines share: theirs stand side by side, so that a search looks at one place for all of them.

An object has a filter of its own first; that goes as it is joined with others of its experiment. A shared one goes with the last of its objects.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.core.logs.grams import Grams
from shared.driver import Driver

TOGETHER = 16
"""So many objects share a filter: 8 MiB of it where each has 8 MiB of text."""


@dataclass(frozen=True, slots=True)
class Alone:
    """Objects of an experiment whose filters have as many places each, the oldest first."""

    tenant: UUID
    objects: tuple[UUID, ...]


async def load_alone(connection: AsyncConnection, limit: int) -> list[Alone]:
    """Return objects that are to share a filter."""
    rows = await Driver.of(connection).fetch(_ALONE, limit)
    return [Alone(row["tenant"], tuple(row["objects"])) for row in rows]


async def load_filters(connection: AsyncConnection, objects: Sequence[UUID]) -> list[Grams]:
    """Return the filters that objects have of their own, in that order."""
    rows = await Driver.of(connection).fetch(_FILTERS, list(objects))
    return [Grams(row["part_bits"], row["part_slices"], row["part_grams"]) for row in rows]


async def save_shared(
    connection: AsyncConnection, id: UUID, alone: Alone, filters: Sequence[Grams], shared: bytes
) -> None:
    """Let a filter count in place of theirs. Raises LookupError where one of them has gone or shares another meanwhile: roll back."""
    *begins, width = accumulate((one.width for one in filters), initial=0)
    await Driver.of(connection).fetch(_SAVE, id, alone.tenant, filters[0].bits, width, shared)
    if await Driver.of(connection).run(_JOIN, id, list(alone.objects), begins) < len(alone.objects):
        raise LookupError(id)


async def drop_unshared(connection: AsyncConnection) -> None:
    """Delete filters whose objects are all gone."""
    await Driver.of(connection).run(_DROP)


_ALONE = f"""
SELECT o.tenant, (array_agg(o.id ORDER BY o.id))[:{TOGETHER}] AS objects
FROM registry.log_objects o JOIN registry.trials t ON t.id = o.trial
WHERE o.state = 'kept' AND o.has_words AND o.shared_filter IS NULL
GROUP BY o.tenant, t.experiment, o.part_bits HAVING count(*) >= {TOGETHER} LIMIT $1
"""
_FILTERS = """
SELECT o.part_bits, o.part_slices, o.part_grams FROM unnest($1::uuid[]) WITH ORDINALITY AS w(id, place)
JOIN registry.log_objects o ON o.id = w.id WHERE o.shared_filter IS NULL ORDER BY w.place
"""
_SAVE = "INSERT INTO registry.log_filters (id, tenant, bits, width, grams) VALUES ($1, $2, $3, $4, $5)"
_JOIN = """
UPDATE registry.log_objects o SET shared_filter = $1, shared_from = w.begin, part_grams = NULL
FROM unnest($2::uuid[], $3::int[]) AS w(id, begin)
WHERE o.id = w.id AND o.state = 'kept' AND o.shared_filter IS NULL
"""
_DROP = """
DELETE FROM registry.log_filters f WHERE NOT EXISTS (SELECT FROM registry.log_objects o WHERE o.shared_filter = f.id)
"""
