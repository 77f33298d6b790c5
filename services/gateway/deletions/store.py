"""Read and write deletion rows, and select the gateway's rows to delete."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Text, Uuid, and_, cast, delete, func, insert, literal, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.deletions.tables import deletion
from services.gateway.experiments.tables import experiment
from services.gateway.models.tables import model, model_version
from services.gateway.platform.auth.store.session_tables import identity, password, session
from services.gateway.platform.auth.store.tables import (
    account,
    account_group,
    membership,
    role_binding,
    tenant,
    token,
)
from services.gateway.platform.events.tables import event
from services.gateway.policies.tables import policy, template
from services.gateway.pools.tables import slot_limit
from services.gateway.quotas.tables import quota
from services.gateway.trials.tables import run, trial
from services.gateway.user_secrets.tables import user_secret
from services.gateway.webhooks.tables import webhook
from shared.bus.data_deletion import DeleteStatement, outbox_of, rows_of
from shared.ids import derived_id

BATCH_SIZE = 200
_OPEN = deletion.c.ended_at.is_(None)
_ACCESS = (session, password, identity, token, role_binding, membership, account_group, account)
"""Tables of credentials, accounts and groups."""


async def insert_deletion(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    await connection.execute(insert(deletion).values(**values))


async def load_deletion(connection: AsyncConnection, deletion_id: UUID) -> Row[Any] | None:
    return (await connection.execute(select(deletion).where(deletion.c.id == deletion_id))).one_or_none()


async def load_open(connection: AsyncConnection, target: UUID) -> Row[Any] | None:
    """Return the open deletion of a target."""
    query = select(deletion).where(deletion.c.target == target, _OPEN)
    return (await connection.execute(query)).one_or_none()


async def load_due(connection: AsyncConnection) -> Sequence[UUID]:
    """Return the ids of open deletions, the least recently changed first."""
    query = select(deletion.c.id).where(_OPEN).order_by(deletion.c.changed_at).limit(BATCH_SIZE)
    return (await connection.execute(query)).scalars().all()


async def lock_deletion(connection: AsyncConnection, deletion_id: UUID) -> Row[Any] | None:
    """Lock an open deletion; None if it has ended or another replica holds the lock."""
    query = select(deletion).where(deletion.c.id == deletion_id, _OPEN).with_for_update(skip_locked=True)
    return (await connection.execute(query)).one_or_none()


async def save_deletion(connection: AsyncConnection, deletion_id: UUID, values: Mapping[str, Any]) -> None:
    await connection.execute(update(deletion).where(deletion.c.id == deletion_id).values(**values))


async def confirm(connection: AsyncConnection, deletion_id: UUID, owner: str) -> None:
    """Remove an owner from those that the deletion waits for."""
    remaining = func.array_remove(deletion.c.pending_owners, owner)
    statement = update(deletion).where(deletion.c.id == deletion_id, _OPEN).values(pending_owners=remaining)
    await connection.execute(statement)


async def mark_experiment(connection: AsyncConnection, experiment_id: UUID, deleting: bool) -> None:
    """Hide an experiment from lists and block changes of it, or undo that."""
    changed = update(experiment).where(experiment.c.id == experiment_id)
    await connection.execute(changed.values(deleting=deleting, killed=False))


async def mark_tenant(connection: AsyncConnection, tenant_id: UUID) -> None:
    """Hide a tenant and delete all its credentials, accounts and groups."""
    await connection.execute(update(tenant).where(tenant.c.id == tenant_id).values(deleting=True))
    for table in _ACCESS:
        await connection.execute(delete(table).where(table.c.tenant == tenant_id))


async def load_registered(
    connection: AsyncConnection, *, experiment_id: UUID | None = None, workspace: str | None = None
) -> Sequence[Any]:
    """Return `name` and `number` of model versions registered from an experiment, or from a workspace's experiments into models of other workspaces."""
    made_of = model_version.c.last_event["lineage"]["experiment_id"].as_string()
    query = (
        select(model.c.name, model_version.c.number)
        .join(model, model.c.id == model_version.c.model)
        .where(model_version.c.is_deleted.is_(False))
    )
    if experiment_id is not None:
        query = query.where(made_of == str(experiment_id))
    else:
        there = select(cast(experiment.c.id, Text)).where(experiment.c.workspace == workspace)
        query = query.where(made_of.in_(there), model.c.workspace != workspace)
    return (await connection.execute(query.order_by(model.c.name, model_version.c.number).limit(6))).all()


async def claim_to_kill(connection: AsyncConnection, where: Mapping[str, UUID]) -> list[UUID]:
    """Mark running experiments that the searcher knows as killed, and return their ids; each is returned once."""
    mine = and_(*(experiment.c[name] == value for name, value in where.items()))
    some = (
        select(experiment.c.id)
        .where(mine, experiment.c.final.is_(False), experiment.c.killed.is_(False), experiment.c.version > 0)
        .limit(BATCH_SIZE)
    )
    statement = update(experiment).where(experiment.c.id.in_(some)).values(killed=True, deleting=True)
    return list((await connection.execute(statement.returning(experiment.c.id))).scalars())


async def has_active(connection: AsyncConnection, where: Mapping[str, UUID]) -> bool:
    """Return whether any matching experiment has not ended."""
    mine = and_(*(experiment.c[name] == value for name, value in where.items()))
    query = select(experiment.c.id).where(mine, experiment.c.final.is_(False)).limit(1)
    return (await connection.execute(query)).first() is not None


async def load_in_workspace(
    connection: AsyncConnection, tenant_id: UUID, workspace: str
) -> Sequence[Row[Any]]:
    """Return a batch of the workspace's experiments without an open deletion."""
    has_deletion = select(deletion.c.id).where(deletion.c.target == experiment.c.id, _OPEN).exists()
    query = select(experiment).where(
        experiment.c.tenant == tenant_id, experiment.c.workspace == workspace, ~has_deletion
    )
    return (await connection.execute(query.order_by(experiment.c.number).limit(BATCH_SIZE))).all()


async def load_refused(connection: AsyncConnection, parent: UUID) -> Row[Any] | None:
    """Return the first refused child of a deletion."""
    query = select(deletion).where(deletion.c.parent == parent, deletion.c.stage == "refused")
    return (await connection.execute(query.order_by(deletion.c.ended_at).limit(1))).one_or_none()


async def load_limit_entities(
    connection: AsyncConnection, tenant_id: UUID, workspace: str | None = None
) -> Sequence[str]:
    """Return the outbox keys of the limits of a tenant or workspace; they were announced on behalf of the site."""
    query = select(slot_limit.c.pool, slot_limit.c.workspace).where(slot_limit.c.tenant == tenant_id)
    if workspace is not None:
        query = query.where(slot_limit.c.workspace == workspace)
    rows = await connection.execute(query)
    return [f"limits:{derived_id(tenant_id, 'limit', row.pool, row.workspace)}" for row in rows]


async def has_workspace(connection: AsyncConnection, workspace: str) -> bool:
    """Return whether the caller can see anything in the workspace."""
    tables = (experiment, model, policy, template, quota, slot_limit, webhook, role_binding, user_secret)
    there = or_(
        *(select(table.c.workspace).where(table.c.workspace == workspace).exists() for table in tables)
    )
    return bool(await connection.scalar(select(there)))


async def has_remaining(connection: AsyncConnection, tenant_id: UUID, workspace: str) -> bool:
    """Return whether the workspace has experiments."""
    query = select(experiment.c.id).where(
        experiment.c.tenant == tenant_id, experiment.c.workspace == workspace
    )
    return (await connection.execute(query.limit(1))).first() is not None


async def delete_experiment(connection: AsyncConnection, experiment_id: UUID) -> None:
    await connection.execute(delete(experiment).where(experiment.c.id == experiment_id))


async def delete_tenant(connection: AsyncConnection, tenant_id: UUID) -> None:
    await connection.execute(delete(tenant).where(tenant.c.id == tenant_id))


async def sweep(connection: AsyncConnection, now: datetime, kept: timedelta) -> None:
    """Delete the rows of deletions of all tenants that ended more than `kept` ago."""
    await connection.execute(delete(deletion).where(deletion.c.ended_at < now - kept))


def rows_of_scope(scope: str, tenant_id: UUID, target: UUID, name: str) -> Sequence[DeleteStatement]:
    """Return the gateway's rows to delete with an experiment or a workspace."""
    if scope == "experiment":
        trials = select(trial.c.id).where(trial.c.experiment == target)
        return (
            rows_of(run, run.c.trial.in_(trials)),
            rows_of(trial, trial.c.experiment == target),
            rows_of(event, and_(event.c.tenant == tenant_id, event.c.experiment == target)),
            *outbox_of("gateway", ["submission"], select(literal(target, Uuid))),
        )
    models = select(model.c.id).where(model.c.tenant == tenant_id, model.c.workspace == name)
    return (
        rows_of(model_version, model_version.c.model.in_(models)),
        *(
            rows_of(table, and_(table.c.tenant == tenant_id, table.c.workspace == name))
            for table in (model, role_binding, policy, template, quota, slot_limit, webhook, user_secret)
        ),
    )
