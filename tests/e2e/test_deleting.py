"""What is deleted is gone from every owner: whole platforms are looked through for its ids afterwards."""

import asyncio
import contextlib
import re
import secrets
import time
from collections.abc import Collection, Iterator, Mapping

import asyncpg
import pytest
from pydantic import JsonValue

from deploy.embedded.servers import Home, PostgresServer
from deploy.embedded.state import load_state
from deploy.postgres.urls import DATABASE, on_database
from muster.client import Client, connect
from muster.client.models import ExperimentDetail
from muster.client.settings import FILE, Address, read_address
from muster.errors import Conflict, MusterError, NotFound, Rejected
from tests.e2e.platform import TOY, Platform
from tests.e2e.secret_scan import Places, object_names, rows

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ON_RECORD = re.compile(
    r"table (gateway\.(audit|audit_unsealed|deletion|long_operation|idempotency|event|webhook_delivery)|\w+\.(tombstone|inbox|outbox))"
)
"""What happened stays on record, for some days or for good; and the ids of what is gone, so that nothing makes it anew."""
OF_TENANTS = (
    "SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped"
    " WHERE c.relkind = 'r' AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
)
LONG = {"x": 1.0, "steps": 4000, "pace_s": 0.05, "every": 61}
SHORT = {"x": 1.0, "steps": 1, "pace_s": 0.0}
"""Its checkpoint has nothing that one of `LONG` has too, whose every 61 steps no other test has: equal files are stored once, under whoever came
first, and stay for whoever is left."""


def test_an_experiment_that_trains_is_ended_and_gone_everywhere(platform: Platform) -> None:
    made = platform.create(hyperparameters=LONG)
    other = platform.completed(platform.create(hyperparameters=SHORT))
    [trial] = _saved(platform.client, made)
    ids = {str(made.id), trial, *(str(run.id) for run in platform.client.trials.runs(trial))}
    ids |= {str(one.id) for one in platform.client.checkpoints.of_experiment(made.number)}
    assert {place.split()[0] for place in _where(platform, ids)} == {"table", "object"}

    refused = platform.muster("experiment", "delete", str(made.number), stdin="no\n")
    assert refused.code == 3 and "nothing was deleted" in refused.err
    done = platform.muster("experiment", "delete", str(made.number), stdin=f"{made.number}\n")
    assert done.code == 0 and f"experiment {made.number} is deleted" in done.err, done

    with pytest.raises(NotFound):
        platform.client.experiments.get(made.number)
    assert not [place for place in _where(platform, ids) if not ON_RECORD.fullmatch(place)]
    assert platform.client.trials.list(other.number).all() and _metrics(platform.client, other)
    hours = platform.client.cluster.usage(by=["experiment"]).items
    assert {row.experiment for row in hours} >= {other.number} and made.number not in {
        row.experiment for row in hours
    }


def test_what_is_registered_keeps_its_experiment(platform: Platform) -> None:
    made = platform.completed(platform.create(hyperparameters=SHORT))
    name = f"kept-{secrets.token_hex(3)}"
    best = platform.client.checkpoints.of_experiment(made.number).all()[0]
    platform.client.models.create(name)
    platform.client.models.register(name, best.id)
    platform.client.models.set_alias(name, "champion", 1)
    with pytest.raises(Conflict, match=f"version 1 of model '{name}'") as refused:
        platform.client.experiments.delete(made.number)
    assert refused.value.code == "experiment_registered"
    assert platform.client.experiments.get(made.number).state == "completed"
    platform.client.experiments.delete(made.number, force=True)
    with pytest.raises(NotFound):
        platform.client.models.version(name, 1)
    assert platform.client.models.get(name).aliases == {}


def test_a_workspace_goes_with_what_is_in_it(platform: Platform) -> None:
    name = f"gone-{secrets.token_hex(3)}"
    made = [platform.create(workspace=name, project="p", hyperparameters=SHORT) for _ in range(2)]
    long = platform.create(workspace=name, project="p", hyperparameters=LONG)
    platform.client.models.create("theirs", workspace=name)
    done = platform.muster("workspace", "delete", name, "--yes")
    assert done.code in (0, 6), done

    def is_gone() -> bool:
        with contextlib.suppress(NotFound):
            return platform.client.workspaces.delete(name).state == "done"
        return True

    platform.until(is_gone)
    for one in (*made, long):
        with pytest.raises(NotFound):
            platform.client.experiments.get(one.number)
    assert "theirs" not in {model.name for model in platform.client.models.list()}


@pytest.fixture
def acme(platform: Platform) -> Iterator[tuple[str, Client]]:
    """A tenant that is there to be deleted, and a client of it."""
    name = f"acme-{secrets.token_hex(3)}"
    secret = platform.client.tenants.create(name).secret
    address = read_address(platform.home / FILE)
    with connect(Address(address.url, secret, "the test")) as client:
        yield name, client


def test_of_a_tenant_nothing_is_left_but_what_happened(platform: Platform, acme: tuple[str, Client]) -> None:
    name, client = acme
    ended, running = _create(client, SHORT), _create(client, LONG)
    client.webhooks.create("hook", "https://hooks.muster.invalid/x")
    client.templates.create("part", {"max_restarts": 1})
    client.experiments.wait(ended.number, timeout_s=150)
    _saved(client, running)
    tenant = next(one.id for one in platform.client.tenants.list() if one.name == name)
    assert len(asyncio.run(_counted(platform, str(tenant)))) > 20
    assert _objects(platform, str(tenant))

    with contextlib.suppress(MusterError):  # it may take longer than a client waits
        platform.client.tenants.delete(name)
    assert name not in {one.name for one in platform.client.tenants.list()}
    with pytest.raises(Rejected):
        client.me()

    def is_over() -> bool:
        [latest, *_] = platform.client.operations.list().all()
        return latest.operation == "DeleteTenant" and latest.state == "done"

    platform.until(is_over)
    left = asyncio.run(_counted(platform, str(tenant)))
    assert set(left) <= {"gateway.audit", "gateway.audit_unsealed"} and left["gateway.audit"] > 0
    assert not _objects(platform, str(tenant))
    assert platform.client.tenants.create(name).name == name


def test_who_keeps_the_site_is_not_locked_out(platform: Platform) -> None:
    with pytest.raises(Conflict, match="cannot be deleted"):
        platform.client.tenants.delete("default")


def _create(client: Client, hyperparameters: Mapping[str, float]) -> ExperimentDetail:
    config: dict[str, JsonValue] = {
        "name": "toy",
        "entrypoint": "python3 train.py",
        "hyperparameters": dict(hyperparameters),
        "searcher": {"name": "single", "metric": "loss"},
    }
    return client.experiments.create(config, TOY)


def _saved(client: Client, made: ExperimentDetail) -> list[str]:
    """Its trials, once one has a checkpoint and lines in its log."""
    end = time.monotonic() + 150
    while not client.checkpoints.of_experiment(made.number).all():
        assert time.monotonic() < end, "no checkpoint came"
        time.sleep(0.2)
    return [str(trial.id) for trial in client.trials.list(made.number)]


def _metrics(client: Client, made: ExperimentDetail) -> bool:
    [trial] = client.trials.list(made.number).all()
    return bool(client.trials.metrics(trial.id).series)


def _places(platform: Platform) -> Places:
    state = load_state(platform.home)
    assert state is not None
    return Places(platform.home, {part.name: part.ports for part in state.parts})


def _objects(platform: Platform, part: str) -> list[str]:
    return [name for name in object_names(_places(platform)) if part in name]


def _where(platform: Platform, ids: Collection[str]) -> set[str]:
    """Tables with rows that name one of these, and objects whose keys do."""

    async def tables() -> set[str]:
        found = set()
        async for place, content in rows(_places(platform)):
            if any(one.encode() in content or bytes.fromhex(one.replace("-", "")) in content for one in ids):
                found.add(place)
        return found

    objects = {f"object {name}" for one in ids for name in _objects(platform, one)}
    return asyncio.run(tables()) | objects


async def _counted(platform: Platform, tenant: str) -> dict[str, int]:
    """The tables that have rows of a tenant, and how many."""
    database = await asyncpg.connect(
        on_database(PostgresServer(Home(platform.home)).administrator_url, DATABASE)
    )
    try:
        tables = [str(row["name"]) for row in await database.fetch(OF_TENANTS)]
        counts = {
            table: await database.fetchval(f"SELECT count(*) FROM {table} WHERE tenant = $1", tenant)
            for table in tables
        }
        return {table: count for table, count in counts.items() if count}
    finally:
        await database.close()
