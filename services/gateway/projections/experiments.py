"""Projects events of searcher and scheduler into the tables of experiments, trials and runs, with one statement per batch.

Callers hold the lock of the tenant's feed (`events.feed_lock`), so that the known states cannot change while they are compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import CTE, ColumnElement, Select, Table, Text, and_, cast, column, literal, select, update
from sqlalchemy.dialects.postgresql import JSON, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment
from services.gateway.projections.versions import Applied, V, Versioned, newer_states, newest_of
from services.gateway.trials.tables import run, trial
from shared.database.statements import among, rows_given
from shared.messages.experiments import ExperimentChanged, TrialChanged
from shared.messages.queue import RequestRanked
from shared.messages.runs import RunEvent


async def apply_experiments(
    connection: AsyncConnection, batch: Sequence[ExperimentChanged]
) -> list[Applied[ExperimentChanged]]:
    """Apply newer states of experiments and return them in the order of the batch. Unknown experiments are skipped."""
    newest = newest_of((one.experiment_id, one) for one in batch)
    names = ("version", "state", "reason", "progress", "best", "trials", "priority", "archived")
    more = ("final", "started_at", "ended_at", "budget")
    rows = [
        (id_, _plain(one.terms), *(_plain(getattr(one, name)) for name in (*names, *more)))
        for id_, one in newest.items()
    ]
    write = _update(experiment, ("id", "search_changes", *names, *more), rows, version="version")
    known = select(experiment.c.id, experiment.c.version, experiment.c.state)
    known = known.where(among(experiment.c.id, newest)).add_cte(write)
    return _of_here(
        await _load_known(connection, known), [(one.experiment_id, one.state, one) for one in batch]
    )


async def apply_queue_policies(
    connection: AsyncConnection, batch: Sequence[RequestRanked]
) -> list[Applied[RequestRanked]]:
    """Apply newer queue policies of experiments like `apply_experiments`."""
    newest = newest_of((one.experiment_id, one) for one in batch)
    rows = [(id_, one.version, _whole(one)) for id_, one in newest.items()]
    write = _update(
        experiment, ("id", "queue_policy_version", "queue_policy"), rows, version="queue_policy_version"
    )
    known = select(experiment.c.id, experiment.c.queue_policy_version, literal(""))
    known = known.where(among(experiment.c.id, newest)).add_cte(write)
    return _of_here(await _load_known(connection, known), [(one.experiment_id, "", one) for one in batch])


async def apply_trials(
    connection: AsyncConnection, tenant: UUID, batch: Sequence[TrialChanged]
) -> list[Applied[TrialChanged]]:
    """Apply newer states of trials. Unknown trials are inserted."""
    newest = newest_of((one.trial_id, one) for one in batch)
    fixed = ("tenant", "id", "experiment", "number")
    rows = [
        (tenant, id_, one.experiment_id, one.number, one.version, one.state, _best(one), _whole(one))
        for id_, one in newest.items()
    ]
    write = _upsert(trial, fixed, ("version", "state", "best_value", "last_event"), rows)
    known = select(trial.c.id, trial.c.version, trial.c.state).where(among(trial.c.id, newest))
    before = await _load_known(connection, known.add_cte(write))
    return list(newer_states(before, [(one.trial_id, one.state, one) for one in batch]))


async def apply_runs(
    connection: AsyncConnection, tenant: UUID, batch: Sequence[RunEvent], state: str
) -> list[Applied[RunEvent]]:
    """Apply newer states of runs, all of which are now in `state`. Unknown runs are inserted."""
    newest = newest_of((one.run_id, one) for one in batch)
    fixed = ("tenant", "id", "trial", "number")
    rows = [
        (tenant, id_, one.trial_id, one.number, one.version, state, _whole(one))
        for id_, one in newest.items()
    ]
    write = _upsert(run, fixed, ("version", "state", "last_event"), rows)
    known = select(run.c.id, run.c.version, run.c.state).where(among(run.c.id, newest))
    before = await _load_known(connection, known.add_cte(write))
    return list(newer_states(before, [(one.run_id, state, one) for one in batch]))


def _update(table: Table, names: Sequence[str], rows: Iterable[Sequence[object]], version: str) -> CTE:
    """Return a CTE that updates rows by `id` where the given version is newer."""
    given = _given(table, names, rows)
    is_newer = and_(table.c.id == given["id"], table.c[version] < given[version])
    values = {name: value for name, value in given.items() if name != "id"}
    return update(table).where(is_newer).values(values).cte("written")


def _upsert(
    table: Table, fixed: Sequence[str], changing: Sequence[str], rows: Iterable[Sequence[object]]
) -> CTE:
    """Return a CTE that inserts rows, or updates them where the given version is newer."""
    given = _given(table, (*fixed, *changing), rows)
    write = insert(table).from_select(list(given), select(*given.values()))
    write = write.on_conflict_do_update(
        index_elements=["id"],
        set_={name: write.excluded[name] for name in changing},
        where=table.c.version < write.excluded.version,
    )
    return write.cte("written")


def _given(
    table: Table, names: Sequence[str], rows: Iterable[Sequence[object]]
) -> dict[str, ColumnElement[Any]]:
    """Return the rows' columns by name. JSON is passed as text, which keeps the order of its keys."""
    types = {name: table.c[name].type for name in names}
    columns = [column(name, Text() if isinstance(one, JSON) else one) for name, one in types.items()]
    given = rows_given(columns, rows)
    return {
        name: cast(given.c[name], one) if isinstance(one, JSON) else given.c[name]
        for name, one in types.items()
    }


async def _load_known(
    connection: AsyncConnection, known: Select[UUID, int, str]
) -> dict[UUID, tuple[int, str]]:
    return {id_: (version, state) for id_, version, state in await connection.execute(known)}


def _of_here(
    known: Mapping[UUID, tuple[int, str]], announced: Iterable[tuple[UUID, str, V]]
) -> list[Applied[V]]:
    return list(newer_states(known, (one for one in announced if one[0] in known)))


def _plain(value: object) -> object:
    return value.model_dump_json() if isinstance(value, BaseModel) else value


def _best(changed: TrialChanged) -> float | None:
    return changed.best.value if changed.best else None


def _whole(message: Versioned) -> str:
    return message.to_bytes().decode()
