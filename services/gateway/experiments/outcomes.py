"""How long operations on experiments are seen to have worked."""

from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments import store
from services.gateway.experiments.actions import ACTIONS
from services.gateway.experiments.render import render_experiment, render_experiment_detail
from services.gateway.platform.commands.outcomes import TenantOutcome
from services.gateway.platform.schema import Resource


async def _reached(connection: AsyncConnection, row: Any) -> Resource | None:
    now = await store.load_experiment(connection, row.entity)
    is_there = now is not None and ACTIONS[row.operation].reached(now, row.version)
    return render_experiment(now) if is_there else None


async def _edited(told: str, connection: AsyncConnection, row: Any) -> Resource | None:
    """`told`: the column in which the owner names the newest change that it made."""
    now = await store.load_experiment(connection, row.entity)
    made = (getattr(now, told) or {}).get("operation_id") if now is not None else None
    # Ids rise with time: where a later change was made, this one was before it.
    return render_experiment_detail(now) if made is not None and UUID(made) >= row.id else None


REACHED = TenantOutcome(_reached)
EDITED = TenantOutcome(partial(_edited, "rank"))
"""The scheduler's word."""
SEARCH_EDITED = TenantOutcome(partial(_edited, "terms"))
"""The searcher's word."""
