"""Files that checkpoints share: sent once, there as long as any of them is, gone a while after the last."""

from uuid import UUID

import pytest

from shared.ids import CheckpointId, new_id
from shared.messages.checkpoints import DamagedFile, GetStorage, Restore
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import events, fetch, fresh, happened, manifest, save, send, store
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def _delete(around: Platform, checkpoint: UUID) -> None:
    await around.rows("UPDATE registry.checkpoint SET state = 'deleting' WHERE id = $1", checkpoint)
    await eventually(lambda: happened(around, "deleted", checkpoint))


async def _contents(around: Platform, run: Run) -> dict[str, bytes]:
    restored = await around.restore(around.scheduler.grant(run))
    return {link.path: await fetch(link.url) for link in restored.files}


async def _keys(around: Platform, checkpoint: UUID) -> dict[str, str]:
    rows = await around.rows(
        "SELECT path, key FROM registry.checkpoint_file WHERE checkpoint = $1", checkpoint
    )
    return {row["path"]: row["key"] for row in rows}


async def _is_there(around: Platform, key: str) -> bool:
    async with store(around) as objects:
        return await objects.stat(key) is not None


async def test_what_has_not_changed_is_not_sent_again(around: Platform) -> None:
    run, files = around.scheduler.grant(), fresh()
    await save(around, run, 1, 10, files=files)
    changed = files | {"model.pt": b"moved on", "copy/of/optimizer": files["optimizer/state.bin"]}
    checkpoint = CheckpointId(new_id(CLOCK))
    links = await around.upload(run, checkpoint, 2, 20, manifest(changed))
    assert [link.path for link in links.files] == ["model.pt"]
    await send(links.files, changed)
    assert (await around.commit(run, checkpoint)).state == "saved"
    assert await _contents(around, run) == changed


async def test_another_tenant_sends_all_of_it(around: Platform) -> None:
    files = fresh()
    await save(around, around.scheduler.grant(), 1, 10, files=files)
    foreign = around.scheduler.grant(tenant=OTHER_TENANT)
    links = await around.upload(foreign, CheckpointId(new_id(CLOCK)), 1, 10, manifest(files))
    assert {link.path for link in links.files} == set(files)


async def test_a_shared_file_stays_until_the_last_checkpoint_that_has_it_is_gone(around: Platform) -> None:
    run, files = around.scheduler.grant(), fresh()
    first = await save(around, run, 1, 10, files=files)
    second = await save(around, run, 2, 20, files=files | {"model.pt": b"only in the second"})
    shared, own = (
        (await _keys(around, first))["optimizer/state.bin"],
        (await _keys(around, first))["model.pt"],
    )
    await _delete(around, first)

    async def is_gone(key: str) -> bool:
        return not await _is_there(around, key)

    await eventually(lambda: is_gone(own))
    assert await _contents(around, run) == files | {"model.pt": b"only in the second"}
    await _delete(around, second)
    await eventually(lambda: is_gone(shared))

    async def is_forgotten() -> bool:
        return await around.count("SELECT count(*) FROM registry.object WHERE key = $1", shared) == 0

    await eventually(is_forgotten)


async def test_what_is_taken_up_again_in_time_stays(around: Platform) -> None:
    """The clock of its last reference has run out, and the deletion finds a new one under the row's lock."""
    run, files = around.scheduler.grant(), fresh()
    first = await save(around, run, 1, 10, files=files)
    announced = CheckpointId(new_id(CLOCK))
    assert (await around.upload(run, announced, 2, 20, manifest(files))).files == ()
    await around.rows(
        "UPDATE registry.object SET unused_since = now() - interval '9 h' WHERE sha256 IN "
        "(SELECT sha256 FROM registry.checkpoint_file WHERE checkpoint = $1)",
        first,
    )
    await _delete(around, first)
    unused = (
        "SELECT count(*) FROM registry.object o JOIN registry.checkpoint_file f USING (key)"
        " WHERE f.checkpoint = $1 AND o.unused_since IS NOT NULL"
    )

    async def is_in_use() -> bool:
        return await around.count(unused, announced) == 0

    await eventually(is_in_use)
    assert (await around.commit(run, announced)).state == "saved"
    assert await _contents(around, run) == files


async def test_what_the_store_has_lost_is_sent_again(around: Platform) -> None:
    run, files = around.scheduler.grant(), fresh()
    first = await save(around, run, 1, 10, files=files)
    async with store(around) as objects:
        await objects.delete((await _keys(around, first))["model.pt"])
    checkpoint = CheckpointId(new_id(CLOCK))
    assert (await around.upload(run, checkpoint, 2, 20, manifest(files))).files == ()
    refused = await around.commit(run, checkpoint)
    assert (refused.state, refused.reason) == (
        "uploading",
        "model.pt: its stored object is missing or has another size",
    )
    links = await around.upload(run, checkpoint, 2, 20, manifest(files))
    assert [link.path for link in links.files] == ["model.pt"]
    await send(links.files, files)
    assert (await around.commit(run, checkpoint)).state == "saved"
    assert await _contents(around, run) == files


async def test_a_damaged_file_spoils_every_checkpoint_that_has_it_and_the_run_goes_on_from_the_one_before(
    around: Platform,
) -> None:
    run, files = around.scheduler.grant(), fresh()
    good = await save(around, run, 1, 10, files=fresh())
    spoilt = [await save(around, run, number, number * 10, files=files) for number in (2, 3)]
    following = around.scheduler.grant(run)
    assert (await around.restore(following)).checkpoint_id == spoilt[1]
    async with store(around) as objects:
        await objects.put((await _keys(around, spoilt[1]))["model.pt"], b"flipped")
    damaged = DamagedFile(checkpoint_id=spoilt[1], path="model.pt")
    restored = await around.insist(Restore(run_id=following.id, damaged=damaged))
    assert (restored.checkpoint_id, restored.step) == (good, 10)
    assert (await around.restore(following)).checkpoint_id == good
    assert [await events(around, "corrupt", one) for one in (good, *spoilt)] == [0, 1, 1]
    links = await around.upload(following, CheckpointId(new_id(CLOCK)), 1, 40, manifest(files))
    assert [link.path for link in links.files] == ["model.pt"], "nobody is given the spoilt bytes again"


async def test_a_worker_s_word_alone_spoils_nothing(around: Platform) -> None:
    run = around.scheduler.grant()
    checkpoint = await save(around, run, 1, 10, files=fresh())
    following = around.scheduler.grant(run)
    await around.restore(following)
    for path in ("model.pt", "no such file"):
        damaged = DamagedFile(checkpoint_id=checkpoint, path=path)
        restored = await around.insist(Restore(run_id=following.id, damaged=damaged))
        assert restored.checkpoint_id == checkpoint
    assert await events(around, "corrupt", checkpoint) == 0


async def test_what_was_kept_and_never_counted_is_counted_and_shared(around: Platform) -> None:
    """As a replica of before leaves it: a saved checkpoint whose files no row of objects tells of."""
    run, files = around.scheduler.grant(), fresh()
    kept = await save(around, run, 1, 10, files=files)
    keys = list((await _keys(around, kept)).values())
    await around.rows("DELETE FROM registry.object WHERE key = ANY($1) RETURNING key", keys)
    before = (await around.ask(GetStorage())).used_bytes
    async with around.registry():

        async def is_counted() -> bool:
            more = int((await around.ask(GetStorage())).used_bytes) - int(before)
            return more == sum(map(len, files.values()))

        await eventually(is_counted)
    again = await around.upload(run, CheckpointId(new_id(CLOCK)), 2, 20, manifest(files))
    assert again.files == (), "the tenant has all of it"
