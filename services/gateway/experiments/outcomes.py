"""Checks that long operations on experiments took effect."""

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


async def _edited(column: str, connection: AsyncConnection, row: Any) -> Resource | None:
    """Return the experiment once the edit took effect. `column` holds the owner's newest applied operation."""
    now = await store.load_experiment(connection, row.entity)
    made = (getattr(now, column) or {}).get("operation_id") if now is not None else None
    # Operation ids rise with time: once a later change is applied, this one is too.
    return render_experiment_detail(now) if made is not None and UUID(made) >= row.id else None


REACHED = TenantOutcome(_reached)
EDITED = TenantOutcome(partial(_edited, "queue_policy"))
"""Edits that the scheduler applies."""
SEARCH_EDITED = TenantOutcome(partial(_edited, "search_changes"))
"""Edits that the searcher applies."""
