"""Insert experiments: one statement claims key and number and reads the limits, another inserts the row.

The transaction locks the tenant's counter, so that other submissions of the tenant wait.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Select, Text, Uuid, cast, exists, func, literal, select
from sqlalchemy.dialects.postgresql import JSON, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.deletions.tables import deletion
from services.gateway.experiments.tables import experiment
from services.gateway.platform.commands.tables import idempotency
from services.gateway.platform.events.tables import counter
from services.gateway.quotas.tables import quota


@dataclass(frozen=True, slots=True)
class NumberedSubmission:
    """The number of an experiment, and reasons to refuse it.

    Attributes:
        is_workspace_known: The workspace has an open experiment, so its name needs no check.
        max_experiments: The limits of open experiments by workspace; key "" is the tenant's.
    """

    number: int
    is_workspace_deleting: bool
    is_workspace_known: bool
    max_experiments: Mapping[str, int]


async def claim_number(
    connection: AsyncConnection, tenant: UUID, workspace: str, claim: Mapping[str, Any] | None
) -> NumberedSubmission | None:
    """Claim an idempotency key and the tenant's next number. The counter's row stays locked until the end of the transaction, so that numbers have no gaps.

    Args:
        claim: Values of `claim_key`; None without a key.

    Returns:
        None if the key was claimed before; then nothing is changed.
    """
    row = (await connection.execute(_begin(tenant, workspace, claim))).one()
    if row.number is None:
        return None
    return NumberedSubmission(
        row.number, row.is_workspace_deleting, row.is_workspace_known, row.max_experiments or {}
    )


async def insert_experiment(connection: AsyncConnection, values: Mapping[str, Any]) -> None:
    given = {
        name: _as_json(value) if isinstance(experiment.c[name].type, JSON) else value
        for name, value in values.items()
        if value is not None
    }
    await connection.execute(insert(experiment).values(given))


def _begin(tenant: UUID, workspace: str, claim: Mapping[str, Any] | None) -> Select[Any]:
    first = select(literal(tenant, Uuid), literal(1), literal(0))
    if claim is not None:
        names = ("operation", "key", "fingerprint", "entity", "created_at")
        claimed = (
            insert(idempotency)
            .values(tenant=tenant, position=0, **{name: claim[name] for name in names})
            .on_conflict_do_nothing()
            .returning(idempotency.c.key)
            .cte("claimed")
        )
        first = first.where(exists().select_from(claimed))
    numbered = (
        insert(counter)
        .from_select(["tenant", "experiments", "events"], first)
        .on_conflict_do_update(index_elements=["tenant"], set_={"experiments": counter.c.experiments + 1})
        .returning(counter.c.experiments)
        .cte("numbered")
    )
    is_workspace_deleting = exists().where(
        deletion.c.scope == "workspace", deletion.c.name == workspace, deletion.c.ended_at.is_(None)
    )
    is_workspace_known = exists().where(experiment.c.workspace == workspace, ~experiment.c.final)
    max_experiments = select(func.json_object_agg(quota.c.workspace, quota.c.max_experiments)).where(
        quota.c.workspace.in_(("", workspace)), quota.c.max_experiments.is_not(None)
    )
    return select(
        select(numbered.c.experiments).scalar_subquery().label("number"),
        is_workspace_deleting.label("is_workspace_deleting"),
        is_workspace_known.label("is_workspace_known"),
        max_experiments.scalar_subquery().label("max_experiments"),
    )


def _as_json(value: object) -> Any:
    """Serialize as text, which preserves the order of keys and allows values such as dates."""
    return cast(literal(orjson.dumps(value, default=str).decode(), Text), JSON)
