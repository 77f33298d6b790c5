"""Rows of models and versions. Deleted ones stay as rows that cannot be found by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Table, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.models.core.stage import StageStatus
from services.registry.store.tables import consumers, models, versions
from shared.messages.lineage import Lineage
from shared.messages.models import PendingStage, Stage, StageChange


@dataclass(frozen=True, slots=True)
class ModelRow:
    """Row of a model."""

    id: UUID
    tenant: UUID
    workspace: str
    name: str
    key: str
    description: str
    notes: str
    tags: list[str]
    metadata: Mapping[str, Any]
    approvals: Mapping[Stage, int]
    aliases: Mapping[str, int]
    by: str
    changed_by: str | None
    version: int
    versions: int
    created_at: datetime
    deleted_at: datetime | None
    deleted_reason: str | None

    def aliases_of(self, number: int) -> list[str]:
        """Return the aliases of a version."""
        return [alias for alias, named in self.aliases.items() if named == number]


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Row of a version."""

    id: UUID
    tenant: UUID
    model: UUID
    version: int
    number: int
    checkpoint: UUID
    name: str
    comment: str
    notes: str
    tags: list[str]
    metadata: Mapping[str, Any]
    signature: Mapping[str, Any] | None
    staged: StageStatus
    by: str
    changed_by: str | None
    lineage: Lineage
    created_at: datetime
    deleted_at: datetime | None
    deleted_reason: str | None


async def insert_model(connection: AsyncConnection, row: Mapping[str, object]) -> ModelRow | None:
    """Insert the model; None if its workspace has one with that name."""
    made = await connection.execute(
        insert(models)
        .values(version=1, versions=0, aliases={}, **row)
        .on_conflict_do_nothing()
        .returning(models)
    )
    found = made.first()
    return ModelRow(**found._mapping) if found else None


async def lock_model(connection: AsyncConnection, model: UUID) -> ModelRow | None:
    """Return the model with its row locked; None if the tenant has none of this id, or it was deleted."""
    query = select(models).where(models.c.id == model, models.c.deleted_at.is_(None))
    row = (await connection.execute(query.with_for_update())).first()
    return ModelRow(**row._mapping) if row else None


async def save_model(connection: AsyncConnection, model: ModelRow, **changes: object) -> ModelRow:
    """Update the locked model."""
    return ModelRow(**await _save(connection, models, model.id, model.version, changes))


async def insert_version(connection: AsyncConnection, row: Mapping[str, object]) -> VersionRow:
    """Insert a version."""
    made = await connection.execute(
        insert(versions).values(version=1, stage="none", stages=[], **row).returning(versions)
    )
    return _version(dict(made.one()._mapping))


async def find_version(
    connection: AsyncConnection, *, id: UUID | None = None, model: UUID | None = None, number: int = 0
) -> VersionRow | None:
    """Return a version by its id, or by model and number; None if there is none, or it was deleted. Lock its model before changing it."""
    query = select(versions).where(versions.c.deleted_at.is_(None))
    wanted = versions.c.id == id if id else (versions.c.model == model) & (versions.c.number == number)
    row = (await connection.execute(query.where(wanted))).first()
    return _version(dict(row._mapping)) if row else None


async def load_versions(connection: AsyncConnection, model: UUID) -> list[VersionRow]:
    """Return a model's versions, oldest first."""
    rows = await connection.execute(
        select(versions)
        .where(versions.c.model == model, versions.c.deleted_at.is_(None))
        .order_by(versions.c.number)
    )
    return [_version(dict(row._mapping)) for row in rows]


async def save_version(connection: AsyncConnection, version: VersionRow, **changes: object) -> VersionRow:
    """Update a version of the locked model."""
    return _version(await _save(connection, versions, version.id, version.version, changes))


async def insert_consumer(connection: AsyncConnection, row: Mapping[str, object]) -> None:
    """Record a use of a version; a known one stays unchanged."""
    await connection.execute(insert(consumers).values(**row).on_conflict_do_nothing())


def staged_columns(staged: StageStatus) -> dict[str, object]:
    """Return the columns of a version's stage."""
    return {
        "stage": staged.stage,
        "pending": staged.pending.model_dump(mode="json") if staged.pending else None,
        "stages": [one.model_dump(mode="json") for one in staged.stages],
    }


async def _save(
    connection: AsyncConnection, table: Table, id: UUID, version: int, changes: Mapping[str, object]
) -> dict[str, Any]:
    changed = await connection.execute(
        update(table).where(table.c.id == id).values(version=version + 1, **changes).returning(table)
    )
    return dict(changed.one()._mapping)


def _version(row: dict[str, Any]) -> VersionRow:
    pending = row.pop("pending")
    staged = StageStatus(
        row.pop("stage"),
        PendingStage.model_validate(pending) if pending else None,
        tuple(StageChange.model_validate(one) for one in row.pop("stages")),
    )
    return VersionRow(**row | {"staged": staged, "lineage": Lineage.model_validate(row["lineage"])})
