"""Labels of experiments: the submission's, and so the gateway's own. Changed for those that are named, and for no others."""

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
from services.gateway.platform.call import Call
from services.gateway.platform.events import store as events
from services.gateway.platform.events.store import NewEvent
from services.gateway.platform.schema import MOST_LABELS


async def label_experiments(call: Call, request: LabelExperimentsRequest) -> LabelledExperiments:
    """Gives labels to experiments and takes labels from them: from all that are named, or where one is not there from none."""
    _check(request)
    async with call.transaction() as unit:
        # Under the feed's lock nobody else changes labels of this tenant, and nothing that is read here becomes old.
        await events.lock_feed(unit.connection, call.tenant)
        rows = await _named(unit.connection, request.experiments)
        told: list[NewEvent] = []
        for row in rows:
            labels = _relabelled(row, request)
            if labels == row.labels:
                continue
            await store.save_labels(unit.connection, row.id, labels)
            resource = orjson.dumps({"number": row.number, "labels": labels})
            told.append(NewEvent(EventKind.LABELS, "changed", row.id, row.id, row.version, resource.decode()))
        await call.doors.publisher.publish(unit, call.tenant, told)
        now = sorted(await store.load_by_ids(unit.connection, [row.id for row in rows]), key=_number)
        call.note(
            before={str(row.number): row.labels for row in rows},
            after={str(row.number): row.labels for row in now},
            entity=f"{len(rows)} experiments",
        )
        return LabelledExperiments(items=[render_experiment(row) for row in now])


def _check(request: LabelExperimentsRequest) -> None:
    if not request.add and not request.remove:
        raise Rejected("invalid_request", "no label is to be changed", hint="give `add`, `remove` or both")
    if both := sorted(set(request.add) & set(request.remove)):
        raise Rejected("invalid_request", f"'{both[0]}' is added and taken away at once", "remove")


async def _named(connection: AsyncConnection, references: Sequence[str]) -> list[Any]:
    """Each once, by number. Raises NotFound where one is not there, and Conflict where one is being deleted."""
    rows = {row.id: row for row in [await experiment_in(connection, one) for one in references]}
    for row in rows.values():
        if row.deleting:
            raise Conflict("experiment_deleting", f"experiment {row.number} is being deleted")
    return sorted(rows.values(), key=_number)


def _relabelled(row: Any, request: LabelExperimentsRequest) -> list[str]:
    """Those that stay in their order, then the new ones."""
    kept = [label for label in row.labels if label not in request.remove]
    labels = kept + [label for label in dict.fromkeys(request.add) if label not in kept]
    if len(labels) > MOST_LABELS:
        raise Rejected(
            "too_many_labels",
            f"experiment {row.number} would have {len(labels)} labels, and may have {MOST_LABELS}",
            "add",
            "take some away",
        )
    return labels


def _number(row: Any) -> int:
    return int(row.number)
