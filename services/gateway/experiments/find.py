"""From what stands in a path to what it names, within the caller's tenant; everything else was not found."""

import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound
from services.gateway.experiments import store
from services.gateway.models import store as models
from services.gateway.models.imported import hint_of
from services.gateway.platform.call import Call

_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_TRIAL = re.compile(r"([1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")

Row = Any
Load = Callable[[AsyncConnection, int | UUID], Awaitable[Row | None]]


def parse_uuid(text: str) -> UUID | None:
    """The id that `text` is in its usual form, else None."""
    return UUID(text) if _UUID.fullmatch(text.lower()) else None


async def find_experiment(call: Call, reference: str, load: Load = store.load_experiment) -> Row:
    """Raises NotFound.

    Args:
        load: what is read of it, by its number or id.
    """
    async with call.read() as connection:
        row = await experiment_in(connection, reference, load)
    call.note(entity=f"experiment/{row.number}")
    _check_kept(call, row.deleting, row.number)
    return row


async def experiment_in(
    connection: AsyncConnection, reference: str, load: Load = store.load_experiment
) -> Row:
    """`find_experiment` within a transaction."""
    key: int | UUID | None = int(reference) if _NUMBER.fullmatch(reference) else parse_uuid(reference)
    row = await load(connection, key) if key is not None else None
    if row is None:
        raise NotFound(f"experiment {reference}", "`muster experiment list` shows those there are")
    return row


async def find_trial(call: Call, reference: str) -> Row:
    """With its `experiment_number` and its experiment's `config`. Raises NotFound."""
    pair = _TRIAL.fullmatch(reference)
    key = (int(pair[1]), int(pair[2])) if pair else parse_uuid(reference)
    if key is not None:
        async with call.read() as connection:
            row = await store.load_trial(connection, key)
        if row is not None:
            call.note(entity=f"trial/{row.experiment_number}.{row.number}")
            _check_kept(call, row.deleting, row.experiment_number)
            return row
    raise NotFound(f"trial {reference}", "trials are named by their id, or as 31.4: trial 4 of experiment 31")


async def model_in(connection: AsyncConnection, reference: str) -> Row:
    """By id, name, or `workspace/name`, within a transaction. Raises NotFound; Conflict where several workspaces have one of that name."""
    found = await models.load_named(connection, parse_uuid(reference) or reference)
    if not found:
        raise NotFound(f"model {reference}", "`muster model list` shows those there are")
    if len(found) > 1:
        places = ", ".join(f"{row.workspace}/{row.name}" for row in found)
        raise Conflict(
            "model_ambiguous", f"there are several models of that name: {places}", hint="say which"
        )
    return found[0]


async def version_in(connection: AsyncConnection, model: Row, reference: str) -> Row:
    """By number, alias or `latest`, within a transaction. Raises NotFound."""
    number = model.changed["aliases"].get(reference)
    if number is None and _NUMBER.fullmatch(reference):
        number = int(reference)
    row = None
    if number is not None or reference == "latest":
        row = await models.load_version(connection, model.id, number)
    if row is None:
        usual = "versions are named by their number, an alias, or `latest`"
        raise NotFound(f"version {reference}", hint_of(model.changed["metadata"], reference) or usual)
    return row


def _check_kept(call: Call, is_deleting: bool, number: int) -> None:
    """Raises Conflict where an operation would change an experiment that is being deleted."""
    if is_deleting and call.pen is not None:
        raise Conflict("experiment_deleting", f"experiment {number} is being deleted")
