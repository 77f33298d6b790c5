"""The lineage graph in the database: steps up or down from many nodes of one kind at once, and node names."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, RowMapping, Select, Text, Uuid, cast, func, literal, select, true
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.runs.core.datasets import dataset_id, parse_dataset
from services.registry.store.tables import (
    IMAGE_OF_RUN,
    checkpoints,
    consumers,
    experiments,
    images,
    models,
    runs,
    trials,
    versions,
)
from shared.database.statements import among
from shared.messages.lineage import Dataset, EdgeKind, LineageNode, NodeKind

Pairs = list[tuple[str, str]]
"""Ids: of the node, and of its neighbour."""
GraphLookup = Callable[[AsyncConnection, Sequence[str], int], Awaitable[Pairs]]


@dataclass(frozen=True, slots=True)
class GraphStep:
    """Step from nodes of one kind to neighbours of another, at most `limit` of them."""

    to: NodeKind
    edge: EdgeKind
    look: GraphLookup


def _by(here: ColumnElement[Any], there: ColumnElement[Any], *conditions: ColumnElement[bool]) -> GraphLookup:
    query = select(cast(here, Text), cast(there, Text)).where(there.is_not(None), *conditions).distinct()

    async def look(connection: AsyncConnection, ids: Sequence[str], limit: int) -> Pairs:
        rows = await connection.execute(query.where(_named(here, ids)).limit(limit))
        return [(one, other) for one, other in rows]

    return look


async def _code_of(connection: AsyncConnection, ids: Sequence[str], limit: int) -> Pairs:
    one_trial = (
        select(trials.c.code_hash)
        .where(trials.c.experiment == experiments.c.id, trials.c.code_hash.is_not(None))
        .limit(1)
        .lateral()
    )
    query = select(experiments.c.id, one_trial.c.code_hash).join(one_trial, true())
    rows = await connection.execute(query.where(_named(experiments.c.id, ids)).limit(limit))
    return [(str(experiment), code) for experiment, code in rows]


async def _datasets_of(connection: AsyncConnection, ids: Sequence[str], limit: int) -> Pairs:
    query = select(experiments.c.id, experiments.c.datasets).where(_named(experiments.c.id, ids))
    rows = await connection.execute(query.where(experiments.c.datasets.is_not(None)).limit(limit))
    return [(str(experiment), dataset_id(Dataset(**one))) for experiment, stated in rows for one in stated]


async def _experiments_on(connection: AsyncConnection, ids: Sequence[str], limit: int) -> Pairs:
    found: Pairs = []
    for dataset in ids:
        wanted = [parse_dataset(dataset).model_dump(exclude_none=True)]
        query = select(experiments.c.id).where(experiments.c.datasets.contains(literal(wanted, JSONB)))
        found += [(dataset, str(one)) for one in await connection.scalars(query.limit(limit))]
    return found


def _named(column: ColumnElement[Any], ids: Sequence[str]) -> ColumnElement[bool]:
    return among(column, map(UUID, ids) if isinstance(column.type, Uuid) else ids)


_STARTED = trials.alias("started")
_IS_USED = (
    select(versions.c.id).where(versions.c.checkpoint == checkpoints.c.id).exists()
    | select(_STARTED.c.id).where(_STARTED.c.start_checkpoint == checkpoints.c.id).exists()
)
_HAS_USED = select(checkpoints.c.id).where(checkpoints.c.trial == trials.c.id, _IS_USED).exists()
UP: Mapping[NodeKind, tuple[GraphStep, ...]] = {
    "consumer": (GraphStep("version", "consumed", _by(consumers.c.id, consumers.c.version)),),
    "version": (GraphStep("checkpoint", "registered", _by(versions.c.id, versions.c.checkpoint)),),
    "checkpoint": (GraphStep("trial", "saved", _by(checkpoints.c.id, checkpoints.c.trial)),),
    "trial": (
        GraphStep("experiment", "searched", _by(trials.c.id, trials.c.experiment)),
        GraphStep("checkpoint", "started", _by(trials.c.id, trials.c.start_checkpoint)),
    ),
    "experiment": (GraphStep("code", "ran", _code_of), GraphStep("dataset", "used", _datasets_of)),
}
"""Steps to what an entity was made from."""
DOWN: Mapping[NodeKind, tuple[GraphStep, ...]] = {
    "dataset": (GraphStep("experiment", "used", _experiments_on),),
    "code": (GraphStep("experiment", "ran", _by(trials.c.code_hash, trials.c.experiment)),),
    "experiment": (GraphStep("trial", "searched", _by(trials.c.experiment, trials.c.id, _HAS_USED)),),
    "trial": (GraphStep("checkpoint", "saved", _by(checkpoints.c.trial, checkpoints.c.id, _IS_USED)),),
    "checkpoint": (
        GraphStep("version", "registered", _by(versions.c.checkpoint, versions.c.id)),
        GraphStep("trial", "started", _by(trials.c.start_checkpoint, trials.c.id)),
    ),
    "version": (GraphStep("consumer", "consumed", _by(consumers.c.version, consumers.c.id)),),
}
"""Steps to what was made from an entity; only trials and checkpoints that were used, because experiments have thousands of others."""


async def load_nodes(connection: AsyncConnection, kind: NodeKind, ids: Sequence[str]) -> list[LineageNode]:
    """Return names and facts of nodes; ids that the tenant does not have are left out."""
    if kind == "dataset":
        found = {dataset: parse_dataset(dataset) for dataset in ids}
        return [
            LineageNode(
                id=dataset, kind=kind, name=one.name, facts=one.model_dump(include={"version", "hash"})
            )
            for dataset, one in found.items()
        ]
    if kind == "code":
        return [LineageNode(id=code, kind=kind, name=code[:12]) for code in ids]
    query = _NODES[kind]
    rows = await connection.execute(query.where(_named(query.selected_columns["id"], ids)))
    return [_node(kind, row) for row in rows.mappings()]


def _node(kind: NodeKind, row: RowMapping) -> LineageNode:
    facts = dict(row)
    for name in ("image", "images"):
        if facts.get(name) is None:
            facts.pop(name, None)
    named = {"id": str(facts.pop("id")), "name": facts.pop("called")}
    return LineageNode(**named, kind=kind, facts={**facts.pop("metadata", {}), **facts})


_NODES: Mapping[NodeKind, Select[Any]] = {
    "experiment": select(
        experiments.c.id,
        func.concat_ws(" ", experiments.c.number, experiments.c.name).label("called"),
        experiments.c.number,
        experiments.c.name,
        select(func.jsonb_object_agg(images.c.image, images.c.digest))
        .where(images.c.experiment == experiments.c.id)
        .scalar_subquery()
        .label("images"),
    ),
    "trial": select(
        trials.c.id,
        func.concat_ws(".", experiments.c.number, trials.c.number).label("called"),
        trials.c.number,
        trials.c.hyperparameters,
        select(IMAGE_OF_RUN)
        .where(runs.c.trial == trials.c.id, IMAGE_OF_RUN.is_not(None))
        .order_by(runs.c.number.desc())
        .limit(1)
        .scalar_subquery()
        .label("image"),
    ).select_from(trials.outerjoin(experiments, experiments.c.id == trials.c.experiment)),
    "checkpoint": select(
        checkpoints.c.id,
        func.concat("step ", checkpoints.c.step).label("called"),
        checkpoints.c.step,
        checkpoints.c.state,
        checkpoints.c.files,
        checkpoints.c.size_bytes,
        select(IMAGE_OF_RUN).where(runs.c.id == checkpoints.c.run).scalar_subquery().label("image"),
    ),
    "version": select(
        versions.c.id,
        func.concat_ws(" ", models.c.name, versions.c.number).label("called"),
        models.c.name.label("model"),
        models.c.workspace,
        versions.c.number,
        versions.c.stage,
        versions.c.deleted_at.is_not(None).label("deleted"),
    ).join(models, models.c.id == versions.c.model),
    "consumer": select(
        consumers.c.id,
        consumers.c.reference.label("called"),
        consumers.c.metadata,
        consumers.c.kind,
        consumers.c.by,
        func.to_jsonb(consumers.c.at, type_=JSONB).label("at"),
    ),
}
"""Name (`called`) and facts of nodes."""
