"""How much each workspace stores, and may."""

from functools import partial

import pytest

from shared.ids import CheckpointId, TenantId, derived_id, new_id
from shared.messages.checkpoints import GetStorage, StorageUse
from shared.messages.limits import WorkspaceStorageLimitChanged
from tests.integration.registry.messages import submitted
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.test_media import begin, keep
from tests.integration.registry.uploads import FRESH, fresh, manifest, save
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")
DIVIDED = TenantId(derived_id(OTHER_TENANT, "divided"))


async def test_a_workspace_stores_no_more_than_it_may(around: Platform) -> None:
    """What two workspaces share counts in both, and once for their tenant; who is bounded does not hold up the other."""

    async def used() -> dict[str, tuple[int, int | None]]:
        found = await around.ask(GetStorage(), DIVIDED)
        assert isinstance(found, StorageUse)
        of = {one.workspace: (one.used_bytes, one.maximum_bytes) for one in found.workspaces}
        return {"": (found.used_bytes, found.maximum_bytes), **of}

    runs = {name: around.scheduler.grant(tenant=DIVIDED) for name in ("vision", "speech")}
    for name, run in runs.items():
        await around.publish("gateway", submitted(run, workspace=name), DIVIDED)

        async def is_known() -> bool:
            sql = "SELECT count(*) FROM registry.experiment WHERE id = $1"
            return bool(await around.count(sql, run.experiment))  # noqa: B023 - awaited at once

        await eventually(is_known)
    files = fresh()
    await save(around, runs["vision"], 1, 10, files=files)
    await save(around, runs["vision"], 2, 20, files=files | {"again": files["model.pt"]})
    await save(around, runs["speech"], 1, 10, files=files)
    assert await used() == {"": (FRESH, None), "vision": (FRESH, None), "speech": (FRESH, None)}
    limit = {"limit_id": derived_id(DIVIDED, "vision"), "workspace": "vision"}
    for version, maximum in ((2, 2000), (1, 5)):
        bound = WorkspaceStorageLimitChanged(**limit, version=version, maximum_bytes=maximum)
        await around.publish("gateway", bound, DIVIDED)

    async def is_bound() -> bool:
        return (await used())["vision"] == (FRESH, 2000)

    await eventually(is_bound)
    refused = await around.upload(runs["vision"], CheckpointId(new_id(CLOCK)), 3, 30, manifest(fresh()))
    assert (refused.files, refused.state) == ((), "abandoned")
    assert "the workspace 'vision' stores 1.42 kB of the 2 kB" in (refused.reason or "")
    assert "the workspace 'vision'" in (
        (await begin(around, runs["vision"], new_id(CLOCK), b"m" * 700)).refused or ""
    )
    await keep(around, runs["vision"], ("text", "notes", 1, b"m" * 500))
    assert (await used())["vision"] == (FRESH + 500, 2000)
    await save(around, runs["speech"], 2, 20, files=fresh())
    assert (await used())["speech"] == (2 * FRESH, None)
    assert await around.ask(GetStorage(), OTHER_TENANT) == StorageUse(used_bytes=0)
    await around.rows(
        "UPDATE registry.checkpoint SET state = 'deleting' WHERE trial = $1 AND state = 'saved' AND step = 10",
        runs["vision"].trial,
    )
    async with around.registry(MUSTER_REGISTRY__COLLECT_EVERY_S="0.2"):
        await eventually(partial(_is_gone, around, runs["vision"], 10))
        assert (await used())["vision"] == (FRESH + 500, 2000), "another of its checkpoints holds them"
        await around.rows(
            "UPDATE registry.checkpoint SET state = 'deleting' WHERE trial = $1 AND state = 'saved'",
            runs["vision"].trial,
        )
        await eventually(partial(_is_gone, around, runs["vision"], 20))
    assert await used() == {"": (2 * FRESH + 500, None), "vision": (500, 2000), "speech": (2 * FRESH, None)}


async def _is_gone(around: Platform, run: Run, step: int) -> bool:
    sql = "SELECT count(*) FROM registry.checkpoint WHERE trial = $1 AND step = $2 AND state = 'deleted'"
    return bool(await around.count(sql, run.trial, step))
