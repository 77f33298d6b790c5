"""Media from a worker's pack to whoever asks: kept once, superseded as points are, counted, gone when their time is over."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from shared.errors import NotFound, Rejected
from shared.ids import new_id
from shared.messages.checkpoints import GetStorage
from shared.messages.media import (
    CommitMedia,
    GetMedia,
    GetMediaNames,
    GetMediaPiece,
    MediaCommitted,
    MediaItem,
    MediaPage,
    MediaTarget,
    MediaView,
    SendMedia,
)
from tests.integration.registry.platform import OTHER_TENANT, Platform, Registry
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import HTTP, save, store
from tests.support.waiting import eventually

TYPES = {
    "image": "image/png",
    "table": "application/json",
    "text": "text/plain",
    "histogram": "application/json",
    "events": "application/octet-stream",
}


def pack_of(*pieces: tuple[str, str, int, bytes], **changes: Any) -> tuple[bytes, tuple[MediaItem, ...]]:
    items, body = [], b""
    for kind, name, step, content in pieces:
        item = MediaItem(
            kind=kind,
            group="training",
            name=name,
            step=step,
            time_ms=1_000 + step,
            content_type=TYPES[kind],
            offset=len(body),
            size_bytes=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            about={"caption": name},
        )
        items.append(item.model_copy(update=changes))
        body += content
    return body, tuple(items)


async def begin(around: Platform, run: Run, pack: UUID, body: bytes, *, bound: bool = False) -> MediaTarget:
    told = {"size_bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    target = await around.insist(
        SendMedia(run_id=run.id, pack_id=pack, **told, takes_headers=bound), run.members[0]
    )
    assert isinstance(target, MediaTarget)
    return target


async def commit(around: Platform, run: Run, pack: UUID, items: Sequence[MediaItem]) -> MediaCommitted:
    kept = await around.insist(CommitMedia(run_id=run.id, pack_id=pack, items=tuple(items)), run.members[0])
    assert isinstance(kept, MediaCommitted)
    return kept


async def put(target: MediaTarget, body: bytes, status: int = 200) -> None:
    assert target.url is not None
    response = await asyncio.to_thread(HTTP.request, "PUT", target.url, body=body, headers=target.headers)
    assert response.status == status


async def keep(around: Platform, run: Run, *pieces: tuple[str, str, int, bytes]) -> UUID:
    body, items = pack_of(*pieces)
    pack = new_id(CLOCK)
    await put(await begin(around, run, pack, body), body)
    assert await commit(around, run, pack, items) == MediaCommitted()
    return pack


async def listed(around: Platform, run: Run, **wanted: Any) -> list[MediaView]:
    found: list[MediaView] = []
    after = None
    while True:
        page = await around.ask(GetMedia(trial_id=run.trial, after=after, **wanted))
        assert isinstance(page, MediaPage)
        found += page.media
        if page.next is None:
            return found
        after = page.next


async def read(view: MediaView) -> bytes:
    last = view.offset + view.size_bytes - 1
    answer = await asyncio.to_thread(
        HTTP.request, "GET", view.url, headers={"Range": f"bytes={view.offset}-{last}"}
    )
    assert answer.status == 206
    return answer.data


async def used(around: Platform) -> int:
    return int((await around.ask(GetStorage())).used_bytes)


async def test_what_was_sent_is_read_back_piece_by_piece(around: Platform, registry: Registry) -> None:
    run, before = around.scheduler.grant(), await used(around)
    await keep(around, run, ("image", "samples", 1, b"\x89PNG one"), ("text", "notes", 1, b"first"))
    await keep(around, run, ("image", "samples", 2, b"\x89PNG two"))
    found = await listed(around, run)
    assert [(one.kind, one.name, one.step, await read(one)) for one in found] == [
        ("image", "samples", 1, b"\x89PNG one"),
        ("text", "notes", 1, b"first"),
        ("image", "samples", 2, b"\x89PNG two"),
    ]
    assert found[0].about == {"caption": "samples"}
    assert [one.step for one in await listed(around, run, limit=1)] == [1, 1, 2]
    assert await read(await around.ask(GetMediaPiece(trial_id=run.trial, id=found[1].id))) == b"first"
    other = around.scheduler.grant()
    for trial, piece in ((other.trial, found[1].id), (run.trial, "1.2"), (run.trial, "none")):
        with pytest.raises(NotFound):
            await around.ask(GetMediaPiece(trial_id=trial, id=piece))
    for wanted, steps in (
        ({"kinds": ("image",)}, [1, 2]),
        ({"names": ("notes",)}, [1]),
        ({"first_step": 2}, [2]),
        ({"last_step": 1, "group": "training"}, [1, 1]),
        ({"group": "other"}, []),
    ):
        assert [one.step for one in await listed(around, run, **wanted)] == steps
    names = (await around.ask(GetMediaNames(trial_id=run.trial))).names
    assert [(one.kind, one.name, one.count, one.first_step, one.last_step) for one in names] == [
        ("image", "samples", 2, 1, 2),
        ("text", "notes", 1, 1, 1),
    ]
    first = await around.ask(GetMediaNames(trial_id=run.trial, limit=1))
    second = await around.ask(GetMediaNames(trial_id=run.trial, limit=1, after=first.next))
    assert (*first.names, *second.names) == names and second.next is None
    assert await used(around) - before == 2 * len(b"\x89PNG one") + len(b"first")
    assert (await around.ask(GetMedia(trial_id=run.trial), OTHER_TENANT)).media == ()
    assert (await around.ask(GetMediaNames(trial_id=run.trial), OTHER_TENANT)).names == ()


async def test_a_pack_counts_once_however_often_it_is_sent(around: Platform, registry: Registry) -> None:
    run = around.scheduler.grant()
    body, items = pack_of(("text", "notes", 1, b"once"))
    pack = new_id(CLOCK)
    assert await commit(around, run, pack, items) == MediaCommitted(is_missing=True)
    target = await begin(around, run, pack, body)
    assert await commit(around, run, pack, items) == MediaCommitted(is_missing=True)
    await put(target, b"else")
    assert await commit(around, run, pack, items) == MediaCommitted(is_missing=True)
    await put(await begin(around, run, pack, body), body)
    before = await used(around)
    answers = await asyncio.gather(*[commit(around, run, pack, items) for _ in range(3)])
    assert MediaCommitted() in answers
    assert await commit(around, run, pack, items) == MediaCommitted()
    assert (await begin(around, run, pack, body)).url is None
    assert (len(await listed(around, run)), await used(around) - before) == (1, 4)


async def test_a_pack_that_the_store_verifies_stays_where_it_was_sent(
    around: Platform, registry: Registry
) -> None:
    run, pack = around.scheduler.grant(), new_id(CLOCK)
    body, items = pack_of(("text", "notes", 1, b"signed for"))
    target = await begin(around, run, pack, body, bound=True)
    await put(target, b"else", 400)
    assert await commit(around, run, pack, items) == MediaCommitted(is_missing=True)
    await put(target, body)
    assert await commit(around, run, pack, items) == MediaCommitted()
    await put(target, b"overwritten", 400)
    [found] = await listed(around, run)
    assert await read(found) == b"signed for"
    assert target.url and target.url.partition("?")[0] == found.url.partition("?")[0], "and no copy was made"


async def test_after_a_roll_back_the_later_run_counts(around: Platform, registry: Registry) -> None:
    first = around.scheduler.grant()
    await keep(around, first, *[("text", "notes", step, b"first %d" % step) for step in (1, 5, 9)])
    await keep(around, first, ("events", "runs/events.out.tfevents.1", 0, b"bytes"))
    await save(around, first, 1, 5)
    second = around.scheduler.grant(first)
    await around.restore(second)
    await keep(around, second, ("text", "notes", 5, b"second 5"), ("text", "notes", 7, b"second 7"))
    found = await listed(around, second, kinds=("text",))
    assert [(one.step, one.run_number) for one in found] == [(1, 1), (5, 2), (7, 2)]
    [events] = await listed(around, second, kinds=("events",))
    assert await read(events) == b"bytes", "an event file is what it is, whatever was rolled back"


async def test_what_is_refused_is_named_and_the_rest_is_kept(around: Platform, registry: Registry) -> None:
    run = around.scheduler.grant()
    for changes, word in (
        ({"name": "x" * 300}, "more than 256 bytes"),
        ({"name": "a\nb"}, "must not contain control characters"),
        ({"step": -1}, "out of range"),
        ({"size_bytes": 99}, "outside its pack"),
        ({"content_type": "text/html"}, "a content type allowed for"),
        ({"kind": "events", "name": "../../etc"}, "path"),
        ({"about": {"a": "x" * 5000}}, "the metadata of"),
    ):
        body, items = pack_of(("text", "good", 1, b"good"), ("text", "bad", 2, b"bad"))
        pack = new_id(CLOCK)
        await put(await begin(around, run, pack, body), body)
        kept = await commit(around, run, pack, (items[0], items[1].model_copy(update=changes)))
        assert kept.refused is not None and word in kept.refused, kept.refused
    assert {one.name for one in await listed(around, run)} == {"good"}
    with pytest.raises(Rejected, match="a pack needs"):
        await around.send(SendMedia(run_id=run.id, pack_id=new_id(CLOCK), size_bytes=2**40, sha256="a" * 64))
    with pytest.raises(Rejected, match="not a member of run"):
        await around.send(
            SendMedia(run_id=run.id, pack_id=new_id(CLOCK), size_bytes=1, sha256="a" * 64), "w-2"
        )
    with pytest.raises(Rejected, match="cursor"):
        await around.ask(GetMedia(trial_id=run.trial, after="a.b"))
    with pytest.raises(Rejected) as refused:
        await around.ask(GetMedia(trial_id=run.trial, names=("no\0name",)))
    assert refused.value.code == "unstorable"


async def test_a_tenant_without_room_is_told_so(around: Platform, registry: Registry) -> None:
    run = around.scheduler.grant(tenant=OTHER_TENANT)
    await around.rows(
        "INSERT INTO registry.storage (tenant, maximum_bytes) VALUES ($1, 3)"
        " ON CONFLICT (tenant) DO UPDATE SET maximum_bytes = 3 RETURNING tenant",
        OTHER_TENANT,
    )
    answer = await begin(around, run, new_id(CLOCK), b"four")
    assert answer.url is None and "the tenant stores" in (answer.refused or "")


async def test_media_go_with_the_points_of_their_experiment(around: Platform, registry: Registry) -> None:
    kept, gone = around.scheduler.grant(), around.scheduler.grant()
    for run in (kept, gone):
        await keep(around, run, ("text", "notes", 1, b"some words"))
    await around.rows(
        "INSERT INTO registry.experiment (id, tenant, metric_retention_days) VALUES ($1, $2, 5) RETURNING id",
        gone.experiment,
        gone.tenant,
    )
    body, _ = pack_of(("text", "notes", 1, b"never committed"))
    await begin(around, gone, new_id(CLOCK), body)
    await around.rows(
        "UPDATE registry.media_pack SET created_at = created_at - interval '7 days' WHERE trial = ANY($1::uuid[]) RETURNING id",
        [kept.trial, gone.trial],
    )
    before = await used(around)
    async with around.registry(MUSTER_REGISTRY__RETAIN_EVERY_S="0.2"), store(around) as objects:
        await eventually(lambda: _has_no_packs(around, gone))
        assert [one async for one in objects.list(f"tenants/{gone.tenant}/media/{gone.trial}/")] == []
        last = (await around.ask(GetMedia(trial_id=kept.trial))).media[-1]
        await keep(around, gone, ("text", "notes", 2, b"new words!"))
        behind = await around.ask(GetMedia(trial_id=gone.trial, after=last.id))
        assert [one.step for one in behind.media] == [2], "who follows from the first pack on sees it"
    assert len(await listed(around, kept)) == 1
    assert await used(around) == before


async def _has_no_packs(around: Platform, run: Run) -> bool:
    return not await around.count("SELECT count(*) FROM registry.media_pack WHERE trial = $1", run.trial)
