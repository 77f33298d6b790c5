"""Code is kept under its hash once it is what it says, and stays so."""

import asyncio
import hashlib
from pathlib import Path

import pytest

from muster.archive import pack
from muster.errors import NotFound, Rejected
from shared.ids import DEFAULT_TENANT, TenantId, derived_id
from shared.messages.checkpoints import GetStorage
from shared.messages.files import (
    ConfirmUpload,
    GetCode,
    GetCodeFiles,
    GetCodeText,
    GetUploadUrl,
    UploadTarget,
)
from tests.integration.registry.messages import submitted
from tests.integration.registry.platform import Platform
from tests.integration.registry.uploads import HTTP, fetch, store
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


@pytest.mark.parametrize("bound", [True, False], ids=["verified by the store", "read back"])
async def test_code_is_kept_once_it_is_what_it_says(around: Platform, bound: bool) -> None:
    content = b"archive" * (100 + bound)
    sha256, size_bytes = hashlib.sha256(content).hexdigest(), len(content)
    query = GetUploadUrl(sha256=sha256, size_bytes=size_bytes, takes_headers=bound)
    confirm = ConfirmUpload(sha256=sha256, size_bytes=size_bytes)
    target = await around.ask(query)
    assert not target.known
    with pytest.raises(Rejected) as missing:
        await around.ask(confirm)
    assert missing.value.code == "upload_missing"
    assert await _put(target, b"something else") == (400 if bound else 200)
    with pytest.raises(Rejected) as mismatch:
        await around.ask(confirm)
    assert mismatch.value.code == ("upload_missing" if bound else "upload_mismatch")
    assert await _put(target, content) == 200
    for _ in range(2):
        assert (await around.ask(confirm)).sha256 == sha256
    assert (await around.ask(query)).known
    assert not (await around.ask(query, TenantId(derived_id(DEFAULT_TENANT, "other")))).known
    link = await around.insist(GetCode(run_id=around.scheduler.grant(code_hash=sha256).id))
    assert await _put(target, b"overwritten by a late client") == (400 if bound else 200)
    assert await fetch(link.url) == content
    with pytest.raises(NotFound):
        await around.insist(GetCode(run_id=around.scheduler.grant(code_hash="0" * 64).id))


async def test_code_can_be_looked_into_by_its_tenant_alone(around: Platform, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "net.py").write_text("WIDTH = 8\n")
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 1000)
    archive = pack(tmp_path)
    query = GetUploadUrl(sha256=archive.sha256, size_bytes=len(archive.content), takes_headers=True)
    assert await _put(await around.ask(query), archive.content) == 200
    await around.ask(_confirmation(query))
    found = await around.ask(GetCodeFiles(sha256=archive.sha256))
    assert [(file.path, file.size_bytes) for file in found.files] == [
        ("deep/net.py", 10), ("weights.bin", 256_000),
    ]  # fmt: skip
    assert (found.size_bytes, found.next) == (len(archive.content), None)
    script = await around.ask(GetCodeText(sha256=archive.sha256, path="deep/net.py"))
    assert (script.file, script.text, script.is_cut) == (found.files[0], "WIDTH = 8\n", False)
    weights = await around.ask(GetCodeText(sha256=archive.sha256, path="weights.bin"))
    assert (weights.file, weights.text, weights.is_cut) == (found.files[1], None, False)
    other = TenantId(derived_id(DEFAULT_TENANT, "other"))
    with pytest.raises(NotFound):
        await around.ask(GetCodeText(sha256=archive.sha256, path="deep"))
    with pytest.raises(NotFound):
        await around.ask(GetCodeFiles(sha256=archive.sha256), other)
    with pytest.raises(NotFound):
        await around.ask(GetCodeText(sha256=archive.sha256, path="deep/net.py"), other)


async def test_code_that_nobody_confirms_goes_and_can_be_sent_again(around: Platform) -> None:
    contents = {name: f"{name} {'archive' * 50}".encode() for name in ("kept", "left")}
    queries = {
        name: GetUploadUrl(sha256=hashlib.sha256(one).hexdigest(), size_bytes=len(one), takes_headers=True)
        for name, one in contents.items()
    }
    for name, query in queries.items():
        assert await _put(await around.ask(query), contents[name]) == 200
    await around.ask(_confirmation(queries["kept"]))
    await around.rows(
        "UPDATE registry.artifact_upload SET requested_at = requested_at - interval '2 days' RETURNING key"
    )
    async with around.registry(), store(around) as objects:
        below = f"tenants/{DEFAULT_TENANT}/code/"

        async def is_swept() -> bool:
            names = [one.key async for one in objects.list(below)]
            return not any(queries["left"].sha256 in name for name in names)

        await eventually(is_swept)
    assert (await around.ask(queries["kept"])).known
    with pytest.raises(Rejected) as missing:
        await around.ask(_confirmation(queries["left"]))
    assert missing.value.code == "upload_missing"
    assert await _put(await around.ask(queries["left"]), contents["left"]) == 200
    assert (await around.ask(_confirmation(queries["left"]))).sha256 == queries["left"].sha256


async def test_code_goes_that_no_experiment_has_and_nobody_asked_for(around: Platform) -> None:
    names = ("submitted", "heard of late", "asked for", "useless")
    contents = {name: f"{name} {'code' * 50}".encode() for name in names}
    queries = {
        name: GetUploadUrl(sha256=hashlib.sha256(one).hexdigest(), size_bytes=len(one), takes_headers=True)
        for name, one in contents.items()
    }
    for name, query in queries.items():
        assert await _put(await around.ask(query), contents[name]) == 200
        await around.ask(_confirmation(query))

    async def submit(name: str) -> None:
        said = submitted(around.scheduler.grant()).model_copy(update={"code_hash": queries[name].sha256})
        await around.publish("gateway", said)
        known = "SELECT FROM registry.experiment WHERE code_hash = $1"
        await eventually(lambda: around.rows(known, said.code_hash))

    await submit("submitted")
    hashes = "sha256 IN (" + ", ".join(f"'{one.sha256}'" for one in queries.values()) + ")"
    await around.rows(
        f"UPDATE registry.artifact SET last_requested_at = last_requested_at - interval '2 days' WHERE {hashes} RETURNING key"
    )
    used_bytes = (await around.ask(GetStorage())).used_bytes
    noticed = f"SELECT sha256 FROM registry.artifact WHERE unused_since IS NOT NULL AND {hashes} ORDER BY 1"

    async def are_noticed() -> bool:
        return len(await around.rows(noticed)) == 3

    async with around.registry():
        await eventually(are_noticed)
        await submit("heard of late")
    assert (await around.ask(queries["asked for"])).known, (
        "noticed by one sweep alone it stays, and is in use again"
    )
    await around.rows(
        "UPDATE registry.artifact SET unused_since = unused_since - interval '1 hour' RETURNING key"
    )
    async with around.registry(), store(around) as objects:

        async def is_gone() -> bool:
            names = [one.key async for one in objects.list(f"tenants/{DEFAULT_TENANT}/code/")]
            return not any(queries["useless"].sha256 in name for name in names)

        await eventually(is_gone)
    assert (await around.ask(GetStorage())).used_bytes == used_bytes - len(contents["useless"])
    assert [(await around.ask(query)).known for query in queries.values()] == [True, True, True, False]
    assert await _put(await around.ask(queries["useless"]), contents["useless"]) == 200
    assert (await around.ask(_confirmation(queries["useless"]))).sha256 == queries["useless"].sha256


def _confirmation(query: GetUploadUrl) -> ConfirmUpload:
    return ConfirmUpload(sha256=query.sha256, size_bytes=query.size_bytes)


async def _put(target: UploadTarget, content: bytes) -> int:
    assert target.url is not None
    return (
        await asyncio.to_thread(HTTP.request, "PUT", target.url, body=content, headers=target.headers)
    ).status


@pytest.mark.parametrize(
    ("sha256", "size_bytes", "code"), [("zz", 1, "bad_hash"), ("0" * 64, 2**40, "too_large")]
)
async def test_code_that_cannot_be_is_refused(
    around: Platform, sha256: str, size_bytes: int, code: str
) -> None:
    with pytest.raises(Rejected) as error:
        await around.ask(GetUploadUrl(sha256=sha256, size_bytes=size_bytes))
    assert error.value.code == code
