"""Refuses a new workspace whose name people mistake for an existing one's."""

from sqlalchemy import ColumnElement, func, literal, literal_column, select, union
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict
from services.gateway.experiments.tables import experiment
from services.gateway.models.tables import model


async def refuse_similar_workspace(connection: AsyncConnection, workspace: str) -> None:
    """Raise Conflict if another workspace with experiments or models has the same name in another case, unless both exist already."""
    alike = [
        select(table.c.workspace).where(_canonical(table.c.workspace) == _canonical(literal(workspace)))
        for table in (experiment, model)
    ]
    found = set((await connection.execute(union(*alike))).scalars())
    if found and workspace not in found:
        raise Conflict(
            "workspace_exists",
            f"a workspace named {min(found)} already exists (upper and lower case count as equal)",
            "workspace",
            f"use {min(found)}, or choose another name",
        )


def _canonical(name: ColumnElement[str]) -> ColumnElement[str]:
    """Return the form by which names are compared, as the unique indexes of users, groups and tenants do."""
    return func.lower(func.normalize(name, literal_column("NFKC")))
