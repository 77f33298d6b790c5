"""Change labels of named experiments. The gateway owns labels, as part of the submission."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, Rejected
from services.gateway.events.schema import EventKind
from services.gateway.experiments import store
from services.gateway.experiments.find import experiment_in
from services.gateway.experiments.render import render_experiment
from services.gateway.experiments.schema import LabelExperimentsRequest, LabelledExperiments
from services.gateway.platform.call_context import Call
from services.gateway.platform.events import store as events
from services.gateway.platform.events.store import NewEvent
from services.gateway.platform.schema import MOST_LABELS


async def label_experiments(call: Call, request: LabelExperimentsRequest) -> LabelledExperiments:
    """Add labels to and remove labels from experiments. If one of them does not exist, none is changed."""
    _check(request)
    async with call.transaction() as unit:
        # The feed's lock excludes concurrent label changes of this tenant.
        await events.lock_feed(unit.connection, call.tenant)
        rows = await _named(unit.connection, request.experiments)
        changes: list[NewEvent] = []
        for row in rows:
            labels = _relabelled(row, request)
            if labels == row.labels:
                continue
            await store.save_labels(unit.connection, row.id, labels)
            resource = orjson.dumps({"number": row.number, "labels": labels})
            changes.append(
                NewEvent(EventKind.LABELS, "changed", row.id, row.id, row.version, resource.decode())
            )
        await call.dependencies.publisher.publish(unit, call.tenant, changes)
        now = sorted(await store.load_by_ids(unit.connection, [row.id for row in rows]), key=_number)
        call.set_audit_fields(
            before={str(row.number): row.labels for row in rows},
            after={str(row.number): row.labels for row in now},
            entity=f"{len(rows)} experiments",
        )
        return LabelledExperiments(items=[render_experiment(row) for row in now])


def _check(request: LabelExperimentsRequest) -> None:
    if not request.add and not request.remove:
        raise Rejected("invalid_request", "the request changes no labels", hint="set `add`, `remove` or both")
    if both := sorted(set(request.add) & set(request.remove)):
        raise Rejected("invalid_request", f"label '{both[0]}' is in both `add` and `remove`", "remove")


async def _named(connection: AsyncConnection, references: Sequence[str]) -> list[Any]:
    """Return the distinct experiments by number. Raises NotFound if one does not exist, Conflict if one is being deleted."""
    rows = {row.id: row for row in [await experiment_in(connection, one) for one in references]}
    for row in rows.values():
        if row.deleting:
            raise Conflict(
                "experiment_deleting", f"experiment {row.number} is being deleted and cannot be changed"
            )
    return sorted(rows.values(), key=_number)


def _relabelled(row: Any, request: LabelExperimentsRequest) -> list[str]:
    """Return the remaining labels in their order, then the new ones."""
    kept = [label for label in row.labels if label not in request.remove]
    labels = kept + [label for label in dict.fromkeys(request.add) if label not in kept]
    if len(labels) > MOST_LABELS:
        raise Rejected(
            "too_many_labels",
            f"experiment {row.number} would have {len(labels)} labels; the maximum is {MOST_LABELS}",
            "add",
            "remove some labels",
        )
    return labels


def _number(row: Any) -> int:
    return int(row.number)
