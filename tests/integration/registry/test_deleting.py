"""What is deleted is gone, whatever dies meanwhile; what comes late makes nothing of it anew; what is needed keeps it."""

from typing import Any
from uuid import UUID

import pytest

from muster.errors import Rejected
from services.registry.store.tables import METADATA
from shared.ids import DEFAULT_TENANT, SITE, CheckpointId, TenantId, new_id
from shared.messages.deletions import DeleteFromRegistry
from shared.messages.experiments import ExperimentChanged
from shared.messages.images import PinImage
from shared.messages.reports import Mark, Report
from tests.integration.registry.messages import granted, report, submitted, validation, wanted
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.test_kills import restarted_when_dead
from tests.integration.registry.test_versions import Catalogue
from tests.integration.registry.uploads import FILES, fresh, manifest, save
from tests.support.waiting import eventually

TABLES = {table.name for table in METADATA.tables.values()} | {
    "log_position",
    "log_chunk",
    "log_object",
    "media_pack",
    "media",
}


async def trained(around: Platform, files: dict[str, bytes] = FILES) -> tuple[Run, CheckpointId]:
    """A run with points, validations, lines and a checkpoint."""
    run = around.scheduler.grant()
    await around.publish("gateway", submitted(run))
    await around.publish("searcher", wanted(run))
    await around.publish("scheduler", granted(run))
    await around.reports(run, 1, [report(1, loss=0.5), validation(1, 1, loss=0.4)])
    await around.lines(run, 1, ["begins", "goes on"])
    await around.insist(pinning(run))
    return run, await save(around, run, 1, 1, files=files)


def pinning(run: Run) -> PinImage:
    return PinImage(run_id=run.id, image="ghcr.io/team/train:1", resolved="sha256:" + "1" * 64)


async def asked(around: Platform, run: Run, **more: Any) -> UUID:
    operation = new_id(CLOCK)
    about = {"scope": "experiment", "target": run.experiment, "by": "ada"} | more
    command = DeleteFromRegistry(operation_id=operation, **about)
    await around.publish("gateway", command, SITE if command.scope == "tenant" else DEFAULT_TENANT)
    return operation


async def answered(around: Platform, operation: UUID) -> tuple[str, list[dict[str, Any]]]:
    """How the owner answered, and with which events."""
    found: dict[str, list[dict[str, Any]]] = {}

    async def is_answered() -> bool:
        for kind in ("entity.deleted", "operation.refused"):
            found[kind] = await around.emitted(kind, operation_id=operation)
        return any(found.values())

    await eventually(is_answered)
    return next((kind, events) for kind, events in found.items() if events)


async def refused_mark(around: Platform, run: Run, first: int, records: list[Report]) -> Mark:
    """What a journal is told at last: a replica that had met its run before has it come again once."""
    found: list[Mark] = []

    async def is_refused() -> bool:
        found.append(await around.reports(run, first, records))
        return (found[-1].refused or "").startswith("run_deleted")

    await eventually(is_refused)
    return found[-1]


async def left(around: Platform, run: Run, checkpoint: UUID) -> dict[str, int]:
    """How many rows of an experiment each table has."""
    ids = {"experiment": run.experiment, "trial": run.trial, "run": run.id, "checkpoint": checkpoint}
    columns = await around.rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'registry'"
    )
    counts: dict[str, int] = {}
    for table, column in columns:
        if table in TABLES - {"model_version"} and (column in ids or (column, table) == ("id", "experiment")):
            value = ids.get(column, run.experiment)
            count = await around.count(
                f'SELECT count(*) FROM registry."{table}" WHERE "{column}" = $1', value
            )
            counts[table] = counts.get(table, 0) + count
    counts["outbox"] = await around.count(
        "SELECT count(*) FROM registry.outbox WHERE entity = $1", f"checkpoint:{checkpoint}"
    )
    return {table: count for table, count in counts.items() if count}


@pytest.mark.parametrize(
    "point", ["", "deleting.after_begin", "registry.before_deleted", "deleting.after_rows"]
)
async def test_it_is_gone_and_said_once_wherever_it_is_killed(around: Platform, point: str) -> None:
    shared, own = fresh(), fresh()
    async with around.registry():
        run, checkpoint = await trained(around, shared | {"own": own["model.pt"]})
        other, kept = await trained(around, shared)
        assert {"series", "log_position", "validation", "checkpoint", "run", "experiment_image"} <= set(
            await left(around, run, checkpoint)
        )
    stored = await _objects(around, checkpoint)
    assert stored
    if point:
        async with restarted_when_dead(around, f"{point}:1:kill"):
            operation = await asked(around, run)
            kind, events = await answered(around, operation)
    else:
        async with around.registry():
            operation = await asked(around, run)
            kind, events = await answered(around, operation)
    assert (kind, len(events)) == ("entity.deleted", 1) and events[0]["owner"] == "registry"
    assert await left(around, run, checkpoint) == {}
    assert await left(around, other, kept), "another's went with it"
    async with around.registry():
        assert {file.path for file in (await around.restore(other)).files} == set(shared)


async def _objects(around: Platform, checkpoint: UUID) -> list[str]:
    rows = await around.rows("SELECT key FROM registry.checkpoint_file WHERE checkpoint = $1", checkpoint)
    return [row["key"] for row in rows]


@pytest.mark.usefixtures("registry")
async def test_what_comes_late_makes_nothing_of_it_anew(around: Platform) -> None:
    run, checkpoint = await trained(around)
    successor = around.scheduler.grant(run)
    assert (await answered(around, await asked(around, run)))[0] == "entity.deleted"
    for late in (run, successor):
        mark = await refused_mark(around, late, 3, [report(2, loss=0.3), report(3, loss=0.2)])
        assert mark.next == 5
    with pytest.raises(Rejected) as refused:
        await around.upload(successor, CheckpointId(new_id(CLOCK)), 2, 3, manifest(fresh()))
    assert refused.value.code == "run_deleted"
    with pytest.raises(Rejected) as refused:
        await around.insist(pinning(successor))
    assert refused.value.code == "run_deleted"
    over = ExperimentChanged(
        experiment_id=run.experiment,
        version=9,
        number=31,
        state="cancelled",
        started_at=CLOCK.now(),
        final=True,
    )
    await _correlated(around, "searcher", run, over)
    await _correlated(around, "searcher", run, wanted(run))
    after, _ = await trained(around)
    assert await around.points(after) == 2
    assert await left(around, run, checkpoint) == {}


async def _correlated(around: Platform, service: str, run: Run, message: Any) -> None:
    """As its owner publishes it, with its experiment in the envelope."""
    from shared.bus import Envelope

    envelope = Envelope(
        new_id(CLOCK), message.TYPE, message.VERSION, DEFAULT_TENANT, correlation=run.experiment
    )
    await around.buses[service].jetstream.publish(
        message.subject(DEFAULT_TENANT), message.to_bytes(), headers=envelope.to_headers()
    )


@pytest.mark.usefixtures("registry")
async def test_what_is_registered_or_in_use_keeps_it(around: Platform) -> None:
    run, checkpoint = await trained(around)
    catalogue = Catalogue(around, f"kept-{run.number}-{str(run.id)[:8]}")
    await catalogue.create()
    await catalogue.register(checkpoint)
    kind, [refusal] = await answered(around, await asked(around, run))
    assert (kind, refusal["code"]) == ("operation.refused", "experiment_registered")
    assert f"version 1 of model '{catalogue.name}'" in refusal["message"]
    user = around.scheduler.grant(start_checkpoint=checkpoint)
    await around.publish("gateway", submitted(user))
    await around.publish("searcher", wanted(user, start_checkpoint=checkpoint))

    async def is_wanted() -> bool:
        return await around.count("SELECT count(*) FROM registry.trial WHERE id = $1", user.trial) == 1

    await eventually(is_wanted)
    kind, [refusal] = await answered(around, await asked(around, run, is_forced=True))
    assert refusal["code"] == "experiment_in_use" and await left(around, run, checkpoint)
    await around.rows("UPDATE registry.trial SET is_final = true WHERE id = $1", user.trial)
    kind, _ = await answered(around, await asked(around, run, is_forced=True))
    assert kind == "entity.deleted" and await left(around, run, checkpoint) == {}
    assert (await around.emitted("version.changed", model_id=catalogue.model))[-1]["deleted_reason"]


@pytest.mark.usefixtures("registry")
async def test_of_a_tenant_nothing_is_left_and_of_others_everything(around: Platform) -> None:
    run, _ = await trained(around)
    theirs = around.scheduler.grant(tenant=OTHER_TENANT)
    await around.publish("gateway", submitted(theirs), OTHER_TENANT)
    await around.reports(theirs, 1, [report(1, loss=0.5)])
    await around.lines(theirs, 1, ["theirs"])
    await save(around, theirs, 1, 1, files=fresh())
    assert (await answered(around, await asked(around, run, scope="tenant", target=OTHER_TENANT)))[
        0
    ] == "entity.deleted"
    counts = await _of_tenants(around, OTHER_TENANT)
    assert counts == {}, counts
    assert await around.points(run) == 2
    assert (await refused_mark(around, theirs, 2, [report(2, loss=0.4)])).next == 3


async def _of_tenants(around: Platform, tenant: TenantId) -> dict[str, int]:
    tables = await around.rows(
        "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema = 'registry' AND column_name = 'tenant'"
    )
    counts = {
        row["table_name"]: await around.count(
            f'SELECT count(*) FROM registry."{row["table_name"]}" WHERE tenant = $1', tenant
        )
        for row in tables
        if not row["table_name"][-1].isdigit()
    }
    return {table: count for table, count in counts.items() if count}
