"""Query experiment groups."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ARRAY, Row, Select, Text, case, func, literal, null, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.store import EXPERIMENTS
from services.gateway.experiments.tables import experiment
from shared.filters.fields import Field
from shared.filters.sql import condition
from shared.filters.syntax_tree import Filter

_NONE = literal([None], ARRAY(Text))
"""Label array of an experiment without labels: a single null, so that it is counted."""


async def load_groups(
    connection: AsyncConnection,
    by: str,
    met: Filter[Field] | None,
    archived: bool,
    after: str | None,
    limit: int,
) -> Sequence[Row[Any]]:
    """Return each value after `after` with its `count` and `states`, in order; the null value comes last."""
    of = EXPERIMENTS.named(by)
    value = func.unnest(case((func.cardinality(of) == 0, _NONE), else_=of)) if by == "labels" else of
    each = select(value.label("value"), experiment.c.state)
    each = each.where(experiment.c.archived == archived, experiment.c.deleting.is_(False))
    if met is not None:
        each = each.where(condition(met, EXPERIMENTS))
    one = each.subquery("one")
    states = select(one.c.value, one.c.state, func.count().label("held")).group_by(one.c.value, one.c.state)
    some = states.subquery("some")
    query: Select[Any] = select(
        some.c.value,
        func.sum(some.c.held).label("count"),
        func.json_object_agg(some.c.state, some.c.held).label("states"),
    )
    if after is not None:
        query = query.where((some.c.value > after) | some.c.value.is_(null()))
    query = query.group_by(some.c.value).order_by(some.c.value.asc().nulls_last())
    rows: Sequence[Row[Any]] = (await connection.execute(query.limit(limit))).all()
    return rows
