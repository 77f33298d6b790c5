"""Stores user secrets, always encrypted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Row, delete, func, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment
from services.gateway.user_secrets.core import Envelope, SecretId
from services.gateway.user_secrets.tables import user_secret
from shared.ids import ExperimentId, TenantId

REWRAP_BATCH = 200
_FACTS = tuple(user_secret.c[name] for name in ("workspace", "name", "created_at", "changed_at", "by"))


async def load_secrets(connection: AsyncConnection, workspace: str) -> Sequence[Row[Any]]:
    """Load a workspace's secrets by name, without their values."""
    query = select(*_FACTS).where(user_secret.c.workspace == workspace).order_by(user_secret.c.name)
    return (await connection.execute(query)).all()


async def load_names(connection: AsyncConnection, workspace: str, names: Iterable[str]) -> frozenset[str]:
    """Return which of these secrets exist."""
    query = select(user_secret.c.name).where(
        user_secret.c.workspace == workspace, user_secret.c.name.in_(tuple(names))
    )
    return frozenset((await connection.execute(query)).scalars())


async def lock_workspace(connection: AsyncConnection, secret: SecretId) -> None:
    """Lock the secrets of a workspace until the transaction ends, so that concurrent creations are counted."""
    key = func.hashtextextended(f"muster:secrets:{secret.tenant}:{secret.workspace}", 0)
    await connection.execute(select(func.pg_advisory_xact_lock(key)))


async def save_secret(connection: AsyncConnection, values: Mapping[str, Any]) -> Row[Any]:
    """Insert a secret, or replace its value; return it without the value."""
    statement = upsert(user_secret).values(**values)
    kept = ("tenant", "workspace", "name", "created_at")
    changed = {name: value for name, value in values.items() if name not in kept}
    saved = statement.on_conflict_do_update(index_elements=["tenant", "workspace", "name"], set_=changed)
    return (await connection.execute(saved.returning(*_FACTS))).one()


async def delete_secret(connection: AsyncConnection, secret: SecretId) -> Any:
    """Delete a secret and return its row without the value; None if there is none."""
    deleted = delete(user_secret).where(*_is(secret)).returning(*_FACTS)
    return (await connection.execute(deleted)).one_or_none()


async def load_envelope(connection: AsyncConnection, secret: SecretId) -> Envelope | None:
    """Load an encrypted value; None if there is no such secret."""
    row = (await connection.execute(select(user_secret).where(*_is(secret)))).one_or_none()
    return None if row is None else _envelope_of(row)


async def load_run_config(connection: AsyncConnection, experiment_id: ExperimentId) -> Any:
    """Load `workspace`, `number` and `config` of an experiment; None if it was deleted."""
    columns = (experiment.c.workspace, experiment.c.number, experiment.c.config)
    query = select(*columns).where(experiment.c.id == experiment_id, experiment.c.deleting.is_(False))
    return (await connection.execute(query)).one_or_none()


async def load_outdated(
    connection: AsyncConnection, key_id: str, after: SecretId | None
) -> list[tuple[SecretId, Envelope]]:
    """Load and lock the next secrets whose data key is encrypted with another master key than this one."""
    place = (user_secret.c.tenant, user_secret.c.workspace, user_secret.c.name)
    query = select(user_secret).where(user_secret.c.key_id != key_id).order_by(*place).limit(REWRAP_BATCH)
    if after is not None:
        query = query.where(tuple_(*place) > tuple_(after.tenant, after.workspace, after.name))
    rows = await connection.execute(query.with_for_update(skip_locked=True))
    return [(SecretId(TenantId(row.tenant), row.workspace, row.name), _envelope_of(row)) for row in rows]


async def save_wrapped(connection: AsyncConnection, secret: SecretId, envelope: Envelope) -> None:
    """Save a data key that was encrypted again."""
    values = {"key_id": envelope.key_id, "wrapped_key": envelope.wrapped_key}
    await connection.execute(update(user_secret).where(*_is(secret)).values(values))


def _is(secret: SecretId) -> tuple[Any, ...]:
    table = user_secret.c
    return (
        table.tenant == secret.tenant,
        table.workspace == secret.workspace,
        table.name == secret.name,
    )


def _envelope_of(row: Row[Any]) -> Envelope:
    return Envelope(row.key_id, bytes(row.wrapped_key), bytes(row.sealed_value))
