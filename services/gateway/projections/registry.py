"""Code and instances: what other services say, as far as lists and names need it here."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Row, cast, select
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.platform.tables import code, instance
from shared.expressions.fields import Wanted
from shared.expressions.sql import Cells, Part, load_part
from shared.messages.instances import InstanceChanged

_TOLD = instance.c.changed
INSTANCES = Cells(
    instance,
    {
        name: _TOLD[name].as_string()
        for name in ("pool", "worker", "driver", "state", "reason", "zone", "purchase")
    }
    | {"kind": _TOLD["machine_kind"].as_string()}
    | {"slots": _TOLD["slots"].as_integer(), "price_per_hour": _TOLD["price_per_hour"].as_float()}
    | {
        name: cast(_TOLD[name].as_string(), DateTime(timezone=True))
        for name in ("since", "launched_at", "ended_at")
    },
)
"""What of a machine a list can go by."""


async def apply_instance(connection: AsyncConnection, changed: InstanceChanged) -> bool:
    """Takes over a newer version; False for one already known."""
    values = {"version": changed.version, "changed": changed.as_json()}
    statement = (
        upsert(instance)
        .values(id=changed.instance_id, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=instance.c.version < changed.version)
    )
    return (await connection.execute(statement)).rowcount > 0


async def load_instances(connection: AsyncConnection, wanted: Wanted) -> Part:
    return await load_part(connection, select(instance), INSTANCES, wanted)


async def load_instance(connection: AsyncConnection, id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(instance).where(instance.c.id == id))).one_or_none()


async def load_code(connection: AsyncConnection, sha256: str) -> Row[Any] | None:
    """With its files, which none but the check of an entrypoint reads: once for each, not once for each experiment."""
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
    """The registry no longer has it."""
    await connection.execute(code.delete().where(code.c.sha256 == sha256))
