"""Reads the runs of trials."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.trials.tables import run


async def load_runs_of(connection: AsyncConnection, trials: Collection[UUID]) -> Mapping[UUID, Sequence[Any]]:
    """Return the runs of each trial, by number. Trials without runs are left out."""
    found: dict[UUID, list[Any]] = defaultdict(list)
    query = select(run.c.trial, run.c.number, run.c.last_event).where(run.c.trial.in_(trials))
    for row in await connection.execute(query.order_by(run.c.number)):
        found[row.trial].append(row)
    return found
