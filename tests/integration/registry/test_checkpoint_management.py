"""What people do with checkpoints: edit, verify, delete, collect them, and how much a tenant may store."""

from uuid import UUID

import pytest

from muster.errors import Conflict, NotFound, Rejected
from shared.ids import CheckpointId, TenantId, derived_id, new_id
from shared.messages.checkpoints import (
    CheckpointView,
    CollectCheckpoints,
    DeleteCheckpoint,
    EditCheckpoint,
    GetStorage,
    ListCheckpoints,
    StorageUse,
    VerifyCheckpoints,
)
from shared.messages.files import GetUploadUrl
from shared.messages.limits import StorageLimitChanged
from tests.integration.registry.messages import ended, finished_trial, validation, wanted
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.test_models import create_model, create_version
from tests.integration.registry.uploads import (
    FRESH,
    SMALL,
    events,
    fresh,
    happened,
    listed,
    manifest,
    save,
    send,
    store,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")
BOUNDED = TenantId(derived_id(OTHER_TENANT, "bounded"))


async def view(around: Platform, checkpoint: UUID) -> CheckpointView:
    page = await around.ask(ListCheckpoints(checkpoint_id=CheckpointId(checkpoint)))
    found = page.checkpoints[0]
    assert isinstance(found, CheckpointView)
    return found


async def trained(
    around: Platform, count: int, *, open_trial: bool = False
) -> tuple[Run, list[CheckpointId]]:
    """A trial with so many checkpoints, each 700 bytes of its own beside others that all share; the loss falls and rises again."""
    run = around.scheduler.grant()
    await around.publish("searcher", wanted(run))
    losses = [abs(number - 2) + 0.5 for number in range(1, count + 1)]
    records = [validation(n, n * 10, loss=loss) for n, loss in enumerate(losses, start=1)]
    await around.reports(run, 1, records)
    same = fresh()
    saved = [
        await save(around, run, n, n * 10, files=same | {"model.pt": fresh()["model.pt"]})
        for n in range(1, count + 1)
    ]
    if not open_trial:
        await around.publish("searcher", finished_trial(run))
    known = "SELECT count(*) FROM registry.trial WHERE id = $1 AND metric = 'loss' AND is_final = $2"

    async def is_known() -> bool:
        return await around.count(known, run.trial, not open_trial) == 1

    await eventually(is_known)
    # What an experiment is that goes on: the registry collects nothing of it by itself.
    await around.rows(
        "INSERT INTO registry.experiment (id, tenant) VALUES ($1, $2)", run.experiment, run.tenant
    )
    return run, saved


async def test_a_dry_run_tells_what_goes_and_why_the_others_stay(around: Platform) -> None:
    run, saved = await trained(around, 6)
    model = await create_model(around, "kept by its name")
    await create_version(around, model.model_id, saved[3])
    around.scheduler.referenced.add(saved[4])

    async def is_registered() -> bool:
        return (
            await around.count("SELECT count(*) FROM registry.model_version WHERE checkpoint = $1", saved[3])
            == 1
        )

    await eventually(is_registered)
    dry = await around.ask(CollectCheckpoints(experiment_id=run.experiment, dry_run=True))
    assert {one.checkpoint_id for one in dry.checkpoints} == {saved[0], saved[2]}
    assert dry.kept == {"trial best": 1, "trial latest": 1, "registered": 1, "in use": 1}
    assert (dry.count, dry.size_bytes, dry.freed_bytes) == (2, 2 * FRESH, 2 * 700)
    assert [(await view(around, one)).state for one in saved] == ["saved"] * 6
    done = await around.ask(CollectCheckpoints(experiment_id=run.experiment))
    assert (done.count, done.freed_bytes, done.kept) == (dry.count, dry.freed_bytes, dry.kept)
    await eventually(lambda: happened(around, "deleted", saved[0]))
    await eventually(lambda: happened(around, "deleted", saved[2]))
    states = [(await view(around, one)).state for one in saved]
    assert states == ["deleted", "saved", "deleted", "saved", "saved", "saved"]


async def test_what_a_running_trial_goes_on_from_is_never_collected(around: Platform) -> None:
    run, saved = await trained(around, 3, open_trial=True)
    none = CollectCheckpoints(experiment_id=run.experiment, save_trial_best=0, save_trial_latest=0)
    done = await around.ask(none)
    assert ({one.checkpoint_id for one in done.checkpoints}, done.kept) == (set(saved[:2]), {"in use": 1})
    assert (await around.restore(around.scheduler.grant(run))).checkpoint_id == saved[2]
    kept = await around.rows("SELECT * FROM registry.experiment WHERE id = $1", run.experiment)
    assert (kept[0]["save_trial_latest"], kept[0]["is_policy_edited"]) == (0, True)


async def test_a_deletion_by_hand_is_refused_with_the_reason(around: Platform) -> None:
    run, saved = await trained(around, 2, open_trial=True)
    model = await create_model(around, "held")
    version = await create_version(around, model.model_id, saved[0])

    async def is_registered() -> bool:
        return bool(await around.emitted("version.changed", version_id=version.version_id))

    await eventually(is_registered)
    uploading = CheckpointId(new_id(CLOCK))
    await around.upload(run, uploading, 3, 30, manifest(fresh()))
    for checkpoint, code in (
        (saved[0], "checkpoint_registered"),
        (saved[1], "checkpoint_in_use"),
        (uploading, "checkpoint_uploading"),
    ):
        with pytest.raises(Conflict) as error:
            await around.ask(DeleteCheckpoint(checkpoint_id=checkpoint))
        assert error.value.code == code and error.value.hint
    with pytest.raises(NotFound):
        await around.ask(DeleteCheckpoint(checkpoint_id=saved[0]), OTHER_TENANT)
    lone = await save(around, around.scheduler.grant(), 1, 10, files=fresh())
    await around.rows("UPDATE registry.trial SET is_final = true")
    for _ in range(2):
        assert (await around.ask(DeleteCheckpoint(checkpoint_id=lone))).state == "deleted"
    await eventually(lambda: happened(around, "deleted", lone))


async def test_verification_finds_what_is_corrupt_and_says_when_the_rest_was_read(around: Platform) -> None:
    run, saved = await trained(around, 3, open_trial=True)
    before = (await view(around, saved[0])).verified_at
    assert before is not None
    rows = await around.rows(
        "SELECT key FROM registry.checkpoint_file WHERE checkpoint = $1 AND path = 'model.pt'", saved[2]
    )
    async with store(around) as objects:
        await objects.put(rows[0]["key"], b"flipped")
    asked = await around.ask(VerifyCheckpoints(experiment_id=run.experiment))
    assert (asked.checkpoints, asked.files, asked.size_bytes) == (3, 5, 3 * 700 + 700 + SMALL)
    await eventually(lambda: happened(around, "corrupt", saved[2]))
    spoilt = await view(around, saved[2])
    assert spoilt.state == "corrupt" and "model.pt: 7 bytes in the store, 700" in (spoilt.reason or "")

    async def is_read() -> bool:
        now = (await view(around, saved[0])).verified_at
        return now is not None and now > before

    await eventually(is_read)
    waiting = VerifyCheckpoints(experiment_id=run.experiment, is_waiting=True)
    key = "(SELECT key FROM registry.checkpoint_file WHERE checkpoint = $1 AND path = 'model.pt')"
    later = f"UPDATE registry.object SET verification_requested_at = now(), claimed_until = now() + interval '1 h' WHERE key = {key}"

    async def is_done() -> bool:
        return bool((await around.ask(waiting)).files == 0)

    await eventually(is_done)
    await around.rows(later, saved[0])
    assert ((await around.ask(waiting)).files, (await around.ask(waiting)).size_bytes) == (1, 700)
    assert (await around.restore(around.scheduler.grant(run))).checkpoint_id == saved[1]
    with pytest.raises(Conflict):
        await around.ask(VerifyCheckpoints(checkpoint_id=saved[2]))
    assert [await events(around, "corrupt", one) for one in saved] == [0, 0, 1]


async def test_a_checkpoint_is_known_to_be_whole_once_the_last_file_asked_for_is_read(
    around: Platform,
) -> None:
    checkpoint = await save(around, around.scheduler.grant(), 1, 10, files=fresh())
    of_it = "SELECT key FROM registry.checkpoint_file WHERE checkpoint = $1 AND path = 'model.pt'"
    taken = f"UPDATE registry.object SET verification_requested_at = now(), claimed_until = now() + interval '1 hour' WHERE key IN ({of_it})"
    await around.rows(taken, checkpoint)
    assert (await view(around, checkpoint)).verified_at is None
    await around.rows(f"UPDATE registry.object SET claimed_until = NULL WHERE key IN ({of_it})", checkpoint)

    async def is_read() -> bool:
        return (await view(around, checkpoint)).verified_at is not None

    await eventually(is_read)


async def test_all_that_is_stored_is_read_again_and_what_was_given_up_goes_by_and_by(
    around: Platform,
) -> None:
    run, files = around.scheduler.grant(), fresh()
    left, lost = CheckpointId(new_id(CLOCK)), around.scheduler.grant()
    await send((await around.upload(lost, left, 1, 10, manifest(files))).files, files)
    below = f"tenants/{lost.tenant}/checkpoints/{left}/"
    await around.publish("scheduler", ended(lost, "lost", checkpoints=None))
    await eventually(lambda: happened(around, "abandoned", left))
    assert len(await listed(around, below)) == len(files), "they may be on their way still"
    await around.rows(
        "UPDATE registry.checkpoint SET changed_at = now() - interval '25 h' WHERE id = $1", left
    )
    checkpoint = await save(around, run, 1, 10, files=fresh())
    await around.rows(
        "UPDATE registry.object SET verified_at = NULL WHERE key IN"
        " (SELECT key FROM registry.checkpoint_file WHERE checkpoint = $1)",
        checkpoint,
    )
    assert (await view(around, checkpoint)).verified_at is None
    async with around.registry():

        async def is_read() -> bool:
            return (await view(around, checkpoint)).verified_at is not None

        async def is_swept() -> bool:
            return not await listed(around, below)

        await eventually(is_read)
        await eventually(is_swept)


async def test_metadata_is_merged_by_its_keys(around: Platform) -> None:
    checkpoint = await save(around, around.scheduler.grant(), 1, 10)
    given = {"deployed": {"where": "eu", "since": 3}, "note": "good"}
    assert (await around.ask(EditCheckpoint(checkpoint_id=checkpoint, metadata=given))).metadata == given
    changed = {"deployed": {"where": "us"}, "note": None, "tag": [1]}
    edited = await around.ask(EditCheckpoint(checkpoint_id=checkpoint, metadata=changed))
    assert edited.metadata == {"deployed": {"where": "us"}, "tag": [1]}
    for bad in ({"a": "\0"}, {"a": "x" * 70_000}):
        with pytest.raises(Rejected) as error:
            await around.ask(EditCheckpoint(checkpoint_id=checkpoint, metadata=bad))
        assert error.value.code == "metadata_unfit"
    assert (await view(around, checkpoint)).metadata == edited.metadata


async def test_a_tenant_stores_no_more_than_it_may(around: Platform) -> None:
    async def used() -> StorageUse:
        found = await around.ask(GetStorage(), BOUNDED)
        assert isinstance(found, StorageUse)
        return found

    async def bound(maximum: int | None, version: int) -> None:
        limit = StorageLimitChanged(limit_id=BOUNDED, version=version, maximum_bytes=maximum)
        await around.publish("gateway", limit, BOUNDED)

        async def is_bound() -> bool:
            return (await used()).maximum_bytes == maximum

        await eventually(is_bound)

    run, files = around.scheduler.grant(tenant=BOUNDED), fresh()
    await bound(3000, 2)
    await save(around, run, 1, 10, files=files)
    await save(around, run, 2, 20, files=files | {"again": files["model.pt"]})
    assert await used() == StorageUse(used_bytes=FRESH, maximum_bytes=3000), "shared contents count once"
    late = CheckpointId(new_id(CLOCK))
    other = fresh()
    links = await around.upload(run, late, 3, 30, manifest(other))
    await send(links.files, other)
    await bound(2000, 3)
    refused = await around.commit(run, late)
    assert refused.state == "abandoned" and "stores 1.42 kB of the 2 kB" in (refused.reason or "")
    again = await around.upload(run, CheckpointId(new_id(CLOCK)), 4, 40, manifest(fresh()))
    assert (again.files, again.state) == ((), "abandoned")
    assert "muster checkpoint collect" in (again.reason or "")
    assert (await around.restore(around.scheduler.grant(run, tenant=BOUNDED))).step == 20
    with pytest.raises(Rejected) as error:
        await around.ask(GetUploadUrl(sha256="b" * 64, size_bytes=900), BOUNDED)
    assert error.value.code == "storage_full"
    await bound(None, 4)
    await around.rows(
        "UPDATE registry.checkpoint SET state = 'deleting' WHERE tenant = $1 AND state = 'saved'", BOUNDED
    )

    async def is_empty() -> bool:
        return (await used()).used_bytes == 0

    await eventually(is_empty)
