"""Trials with all their runs, as they are shown along time."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.trials.tables import run


async def load_runs_of(connection: AsyncConnection, trials: Collection[UUID]) -> Mapping[UUID, Sequence[Any]]:
    """The runs of each trial by number; of one without any, none."""
    found: dict[UUID, list[Any]] = defaultdict(list)
    query = select(run.c.trial, run.c.number, run.c.changed).where(run.c.trial.in_(trials))
    for row in await connection.execute(query.order_by(run.c.number)):
        found[row.trial].append(row)
    return found
