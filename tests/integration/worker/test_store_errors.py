"""Failed requests of a worker to the object store are counted in its metrics, by operation and kind of error."""

from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from muster.errors import Rejected, Transient
from shared.messages.files import FileLink
from tests.integration.worker.store import FakeStore
from worker.sandbox.trial_files import TrialFile
from worker.transfer.http import Transfer, new_session

CONTENT = b"weights"
DIGEST = sha256(CONTENT).hexdigest()


@pytest.fixture
async def store() -> AsyncIterator[FakeStore]:
    store = FakeStore()
    await store.start()
    yield store
    await store.stop()


async def test_each_failed_request_counts_once(store: FakeStore, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(CONTENT)
    link = FileLink(path="model", size_bytes=len(CONTENT), sha256=DIGEST, url=f"{store.url}/model")
    before = {labels: _errors(*labels) for labels in (("put", "503"), ("get", "404"), ("get", "bad_bytes"))}
    async with new_session() as session:
        transfer = Transfer(session)
        store.puts_refused.add("model")
        with pytest.raises(Transient):
            await transfer.put(link, TrialFile(tmp_path, source.name))
        await transfer.put(link, TrialFile(tmp_path, source.name))
        with pytest.raises(Rejected):
            await transfer.get(f"{store.url}/gone", target, DIGEST, len(CONTENT))
        with pytest.raises(Transient):
            await transfer.get(f"{store.url}/model", target, sha256(b"other").hexdigest(), len(CONTENT))
        await transfer.get(f"{store.url}/model", target, DIGEST, len(CONTENT))
    counted = {labels: _errors(*labels) - count for labels, count in before.items()}
    assert counted == {("put", "503"): 1, ("get", "404"): 0, ("get", "bad_bytes"): 1}, (
        "a missing object is no fault of the store"
    )


def _errors(operation: str, error_type: str) -> float:
    labels = {"operation": operation, "error_type": error_type}
    return REGISTRY.get_sample_value("muster_object_store_errors_total", labels) or 0.0
