"""The graph of lineage as the tables hold it: one step up or down from many things of a kind at once, and what they are called."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from services.registry.core.datasets import dataset_id, parse_dataset
from shared.driver import Driver, Row
from shared.messages.lineage import Dataset, EdgeKind, Node, NodeKind

Pairs = list[tuple[str, str]]
"""Ids: of what was asked about, and of its neighbour."""
Look = Callable[[Driver, Sequence[str], int], Awaitable[Pairs]]


@dataclass(frozen=True, slots=True)
class Step:
    """From things of one kind to their neighbours of another, at most `limit` of them."""

    to: NodeKind
    edge: EdgeKind
    look: Look


def _by(statement: str) -> Look:
    async def look(driver: Driver, ids: Sequence[str], limit: int) -> Pairs:
        rows = await driver.fetch(statement + " LIMIT $2", ids, limit)
        return [(here, there) for here, there in map(_values, rows)]

    return look


async def _datasets_of(driver: Driver, ids: Sequence[str], limit: int) -> Pairs:
    rows = await driver.fetch(_DATASETS, ids, limit)
    return [(here, dataset_id(Dataset(**one))) for here, stated in map(_values, rows) for one in stated]


async def _experiments_on(driver: Driver, ids: Sequence[str], limit: int) -> Pairs:
    found: Pairs = []
    for dataset in ids:
        wanted = orjson.dumps([parse_dataset(dataset).model_dump(exclude_none=True)]).decode()
        found += [(dataset, row["id"]) for row in await driver.fetch(_TRAINED_ON, wanted, limit)]
    return found


def _values(row: Row) -> tuple[Any, ...]:
    return tuple(row.values())


UP: Mapping[NodeKind, tuple[Step, ...]] = {
    "consumer": (Step("version", "consumed", _by(
        "SELECT id::text, version::text FROM registry.consumers WHERE id = ANY($1::text[]::uuid[])")),),
    "version": (Step("checkpoint", "registered", _by(
        "SELECT id::text, checkpoint::text FROM registry.versions WHERE id = ANY($1::text[]::uuid[])")),),
    "checkpoint": (Step("trial", "saved", _by(
        "SELECT id::text, trial::text FROM registry.checkpoints WHERE id = ANY($1::text[]::uuid[])")),),
    "trial": (
        Step("experiment", "searched", _by(
            "SELECT id::text, experiment::text FROM registry.trials WHERE id = ANY($1::text[]::uuid[])")),
        Step("checkpoint", "started", _by(
            "SELECT id::text, start_checkpoint::text FROM registry.trials"
            " WHERE id = ANY($1::text[]::uuid[]) AND start_checkpoint IS NOT NULL")),
    ),
    "experiment": (
        Step("code", "ran", _by(
            "SELECT e.id::text, t.code_hash FROM registry.experiments e CROSS JOIN LATERAL (SELECT code_hash FROM registry.trials"
            " WHERE experiment = e.id AND code_hash IS NOT NULL LIMIT 1) t WHERE e.id = ANY($1::text[]::uuid[])")),
        Step("dataset", "used", _datasets_of),
    ),
}  # fmt: skip
"""What a thing came from."""
DOWN: Mapping[NodeKind, tuple[Step, ...]] = {
    "dataset": (Step("experiment", "used", _experiments_on),),
    "code": (Step("experiment", "ran", _by(
        "SELECT DISTINCT code_hash, experiment::text FROM registry.trials WHERE code_hash = ANY($1::text[])")),),
    "experiment": (Step("trial", "searched", _by(
        "SELECT DISTINCT t.experiment::text, t.id::text FROM registry.trials t JOIN registry.checkpoints c ON c.trial = t.id"
        " WHERE t.experiment = ANY($1::text[]::uuid[]) AND (EXISTS (SELECT FROM registry.versions v WHERE v.checkpoint = c.id)"
        " OR EXISTS (SELECT FROM registry.trials s WHERE s.start_checkpoint = c.id))")),),
    "trial": (Step("checkpoint", "saved", _by(
        "SELECT c.trial::text, c.id::text FROM registry.checkpoints c WHERE c.trial = ANY($1::text[]::uuid[])"
        " AND (EXISTS (SELECT FROM registry.versions v WHERE v.checkpoint = c.id)"
        " OR EXISTS (SELECT FROM registry.trials s WHERE s.start_checkpoint = c.id))")),),
    "checkpoint": (
        Step("version", "registered", _by(
            "SELECT checkpoint::text, id::text FROM registry.versions WHERE checkpoint = ANY($1::text[]::uuid[])")),
        Step("trial", "started", _by(
            "SELECT start_checkpoint::text, id::text FROM registry.trials WHERE start_checkpoint = ANY($1::text[]::uuid[])")),
    ),
    "version": (Step("consumer", "consumed", _by(
        "SELECT version::text, id::text FROM registry.consumers WHERE version = ANY($1::text[]::uuid[])")),),
}  # fmt: skip
"""What came of a thing. Of trials and checkpoints only those from which something came: an experiment has thousands of the others."""


async def load_nodes(driver: Driver, kind: NodeKind, ids: Sequence[str]) -> list[Node]:
    """Return what things are called, with facts to show; ids that the tenant does not have are left out."""
    if kind == "dataset":
        found = {dataset: parse_dataset(dataset) for dataset in ids}
        return [
            Node(id=dataset, kind=kind, name=one.name, facts=one.model_dump(include={"version", "hash"}))
            for dataset, one in found.items()
        ]
    if kind == "code":
        return [Node(id=code, kind=kind, name=code[:12]) for code in ids]
    rows = await driver.fetch(_NODES[kind], ids)
    return [Node(id=one, kind=kind, name=name, facts=facts) for one, name, facts in map(_values, rows)]


_DATASETS = "SELECT id::text, datasets FROM registry.experiments WHERE id = ANY($1::text[]::uuid[]) LIMIT $2"
_TRAINED_ON = "SELECT id::text AS id FROM registry.experiments WHERE datasets @> $1::jsonb LIMIT $2"
_NODES: Mapping[NodeKind, str] = {
    "experiment": """
        SELECT id::text, concat_ws(' ', number, name), jsonb_build_object('number', number, 'name', name)
        FROM registry.experiments WHERE id = ANY($1::text[]::uuid[])""",
    "trial": """
        SELECT t.id::text, concat_ws('.', e.number, t.number),
            jsonb_build_object('number', t.number, 'hyperparameters', t.hyperparameters)
        FROM registry.trials t LEFT JOIN registry.experiments e ON e.id = t.experiment
        WHERE t.id = ANY($1::text[]::uuid[])""",
    "checkpoint": """
        SELECT id::text, 'step ' || step,
            jsonb_build_object('step', step, 'state', state, 'files', files, 'size_bytes', size_bytes)
        FROM registry.checkpoints WHERE id = ANY($1::text[]::uuid[])""",
    "version": """
        SELECT v.id::text, m.name || ' ' || v.number, jsonb_build_object(
            'model', m.name, 'workspace', m.workspace, 'number', v.number, 'stage', v.stage,
            'deleted', v.deleted_at IS NOT NULL)
        FROM registry.versions v JOIN registry.models m ON m.id = v.model WHERE v.id = ANY($1::text[]::uuid[])""",
    "consumer": """
        SELECT id::text, reference, metadata || jsonb_build_object('kind', kind, 'by', by, 'at', at)
        FROM registry.consumers WHERE id = ANY($1::text[]::uuid[])""",
}
