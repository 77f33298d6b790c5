"""Read experiments. `submission.store` inserts them; `projections` applies announcements of searcher and scheduler."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Double, Row, Select, case, cast, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.search_index import find_candidates, is_newest_first, load_newest
from services.gateway.experiments.tables import experiment
from shared.database.statements import among
from shared.filters.fields import Field, ListQuery
from shared.filters.sql import Cells, RowPage, condition, load_part
from shared.filters.syntax_tree import Filter

_LISTED = [column for column in experiment.c if column.name not in ("config", "config_yaml")]
_NOT_FINITE = (float("inf"), float("-inf"), float("nan"))


def finite_cell(value: ColumnElement[float]) -> ColumnElement[float | None]:
    """Return null for values that are not finite, as the API does."""
    return case((value.not_in(_NOT_FINITE), value))


EXPERIMENTS = Cells(
    experiment,
    {
        "best.value": finite_cell(cast(experiment.c.best["value"].as_string(), Double)),
        "trials.running": func.coalesce(experiment.c.trials["running"].as_integer(), 0),
        "trials.error": func.coalesce(experiment.c.trials["error"].as_integer(), 0),
        "priority": func.coalesce(experiment.c.queue_policy["priority"].as_integer(), experiment.c.priority),
    },
)
"""Fields by which lists of experiments can be filtered and sorted."""


async def load_experiment(connection: AsyncConnection, reference: int | UUID) -> Row[Any] | None:
    """Load an experiment by number or id; None if the tenant has no such experiment."""
    column = experiment.c.number if isinstance(reference, int) else experiment.c.id
    return (await connection.execute(select(experiment).where(column == reference))).one_or_none()


async def load_names(
    connection: AsyncConnection, experiments: Collection[UUID]
) -> dict[UUID, tuple[int, str]]:
    """Return number and name of each existing experiment, by id."""
    query = select(experiment.c.id, experiment.c.number, experiment.c.name)
    found = await connection.execute(query.where(among(experiment.c.id, experiments)))
    return {row.id: (row.number, row.name) for row in found}


async def load_labels(connection: AsyncConnection, experiments: Collection[UUID]) -> dict[UUID, list[str]]:
    """Return the labels of each existing experiment, by id."""
    query = select(experiment.c.id, experiment.c.labels)
    found = await connection.execute(query.where(among(experiment.c.id, experiments)))
    return {row.id: row.labels for row in found}


async def load_known_numbers(connection: AsyncConnection, numbers: Collection[int]) -> set[int]:
    """Return the numbers that belong to existing experiments."""
    query = select(experiment.c.number).where(experiment.c.number.in_(numbers))
    return set((await connection.execute(query)).scalars())


async def load_ids(connection: AsyncConnection, limit: int) -> Sequence[UUID]:
    """Return ids, newest first."""
    query = select(experiment.c.id).order_by(experiment.c.number.desc()).limit(limit)
    return (await connection.execute(query)).scalars().all()


async def load_listed(
    connection: AsyncConnection,
    states: Sequence[str],
    labels: Sequence[str],
    name_contains: str | None,
    archived: bool,
    wanted: ListQuery,
) -> RowPage:
    """Return a page of experiments without their configs."""
    query: Select[Any] = select(*_LISTED)
    query = query.where(experiment.c.archived == archived, experiment.c.deleting.is_(False))
    if states:
        query = query.where(experiment.c.state.in_(states))
    if labels:
        query = query.where(experiment.c.labels.contains(list(labels)))
    if name_contains:
        query = query.where(experiment.c.name.icontains(name_contains, autoescape=True))
    texts = [name_contains] if name_contains else []
    candidates = await find_candidates(connection, labels, texts, wanted.filter)
    if candidates is None:
        return await load_part(connection, query, EXPERIMENTS, wanted)
    if is_newest_first(wanted):
        return await load_newest(connection, query, EXPERIMENTS, candidates, wanted)
    found = candidates.subquery("found")
    query = query.join(found, found.c.number == experiment.c.number)
    return await load_part(connection, query, EXPERIMENTS, wanted)


async def load_matching_ids(
    connection: AsyncConnection, met: Filter[Field] | None, archived: bool
) -> Sequence[UUID]:
    """Return the ids of all experiments that match a filter, newest first."""
    query = select(experiment.c.id).where(experiment.c.archived == archived, experiment.c.deleting.is_(False))
    if met is not None:
        query = query.where(condition(met, EXPERIMENTS))
    return (await connection.execute(query.order_by(experiment.c.number.desc()))).scalars().all()


async def load_by_ids(connection: AsyncConnection, ids: Collection[UUID]) -> Sequence[Row[Any]]:
    """Return the experiments without their configs, in no order."""
    found: Sequence[Row[Any]] = (
        await connection.execute(select(*_LISTED).where(among(experiment.c.id, ids)))
    ).all()
    return found


async def save_labels(connection: AsyncConnection, experiment_id: UUID, labels: Sequence[str]) -> None:
    """Save labels; the table's trigger updates the search terms."""
    statement = update(experiment).where(experiment.c.id == experiment_id)
    await connection.execute(statement.values(labels=list(labels)))


async def load_workspaces(connection: AsyncConnection) -> Sequence[str]:
    """Return the workspaces that have experiments."""
    return (await connection.execute(select(experiment.c.workspace).distinct())).scalars().all()
