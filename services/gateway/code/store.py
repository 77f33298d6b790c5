"""Read and write code archives by hash."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Row, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.code.tables import code


async def load_code(connection: AsyncConnection, sha256: str) -> Row[Any] | None:
    """Load the archive's row with its file list, which the entrypoint check reads."""
    return (await connection.execute(select(code).where(code.c.sha256 == sha256))).one_or_none()


async def save_code(
    connection: AsyncConnection, tenant: UUID, sha256: str, size_bytes: int, files: Sequence[str], now: Any
) -> None:
    statement = upsert(code).values(
        tenant=tenant, sha256=sha256, size_bytes=size_bytes, files=list(files), created_at=now
    )
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=["tenant", "sha256"],
            set_={"files": statement.excluded.files},
            where=code.c.files.is_(None),
        )
    )


async def forget_code(connection: AsyncConnection, sha256: str) -> None:
    """Delete the row of code that the registry no longer has."""
    await connection.execute(code.delete().where(code.c.sha256 == sha256))
