"""Checkpoints in the registry: 1 GiB in 8 files from a worker's disk to `saved`, and ten thousand of them deleted by the rule.

Nothing trains beside it (that is `checkpoint`): the worker's own code hashes the files, sends them to the signed URLs and asks for the
commit, for which the registry asks the store, which verified each file as it came (decision 0271). `throughput_ratio` has all of that in its time, `sent_ratio` only what the worker does until all is sent. The raw store's time is that of the same bytes sent by a plain
S3 client, four files at once. Deletion counts from the request to collect until the store holds none of the files and every
`checkpoint.deleted` stands in the outbox; the day that unused files stay is left out by `unused_for_s`.

`python -m tests.bench.checkpoints save` (or `collect`) measures one part.
"""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from statistics import median
from uuid import UUID

import aiohttp
import psutil
from minio import Minio

from shared.ids import DEFAULT_TENANT, CheckpointId, new_id
from shared.messages.checkpoints import (
    CollectCheckpoints,
    CommitCheckpoint,
    CommitMany,
    Committed,
    CommittedMany,
    Upload,
    UploadLinks,
    UploadLinksOfMany,
    UploadMany,
)
from tests.bench.durable import DurableServers
from tests.bench.harness import Figures, Report, run
from tests.integration.registry.platform import Platform, Registry, platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.integration.registry.uploads import store
from tests.integration.servers import BUCKET
from worker.transfer.checkpoints.upload import Announced, UploadEvents
from worker.transfer.checkpoints.uploads import Uploads
from worker.transfer.http import Transfer, new_session

ROUNDS, FILES, FILE_MIB, AT_ONCE = 2, 8, 128, 4
CHECKPOINTS, OWN, KEPT = 10_000, 2, 10
"""Each has so many small files of its own beside one that all share; the rule keeps the newest of each of `KEPT` trials."""
MIB = 2**20
LOOK_S, TIMEOUT_S = 0.05, 300.0
LAYERS, LIFE = 64, timedelta(minutes=10)
PARTS = ("save", "collect")


@dataclass(frozen=True, slots=True)
class Round:
    """One checkpoint, in seconds from the script's end of writing."""

    sent_s: float
    saved_s: float
    bare_s: float


class Peak:
    """The most memory that a process had, looked at ten times a second."""

    def __init__(self, registry: Registry) -> None:
        assert registry.child is not None
        self.mib = 0.0
        self._process = psutil.Process(registry.child.pid)

    async def watch(self) -> None:
        while True:
            self.mib = max(self.mib, self._process.memory_info().rss / MIB)
            await asyncio.sleep(0.1)


class Asked:
    """The registry, as a worker's uploads ask it."""

    def __init__(self, around: Platform) -> None:
        self._around = around
        self.sent_at = 0.0

    async def announce(self, upload: Upload) -> UploadLinks:
        links = await self._around.send(upload)
        assert isinstance(links, UploadLinks)
        return links

    async def commit(self, commit: CommitCheckpoint) -> Committed:
        self.sent_at = self.sent_at or time.perf_counter()
        committed = await self._around.send(commit, timeout_s=30)
        assert isinstance(committed, Committed)
        return committed

    async def announce_many(self, request: UploadMany) -> Sequence[UploadLinks]:
        answered = await self._around.send(request)
        assert isinstance(answered, UploadLinksOfMany)
        return answered.answers

    async def commit_many(self, request: CommitMany) -> Sequence[Committed]:
        answered = await self._around.send(request, timeout_s=30)
        assert isinstance(answered, CommittedMany)
        return answered.answers


def measure(report: Report) -> Figures:
    report.inputs(
        rounds=ROUNDS,
        files=FILES,
        file_mib=FILE_MIB,
        puts_at_once=AT_ONCE,
        checkpoints=CHECKPOINTS,
        own_files=OWN,
    )
    return asyncio.run(_measure(report, sys.argv[1:] or PARTS))


async def _measure(report: Report, parts: Sequence[str]) -> Figures:
    servers = DurableServers()
    folder = Path(tempfile.mkdtemp(prefix="muster-bench-"))
    try:
        database = servers.migrated_database()
        settings = {
            "MUSTER_REGISTRY__UNUSED_FOR_S": "0",
            "MUSTER_REGISTRY__UNUSED_EVERY_S": "0.2",
            "MUSTER_REGISTRY__COLLECT_EVERY_S": "0.2",
            # What is laid down to be collected has no hashes of its own.
            "MUSTER_REGISTRY__SCRUB_BYTES_PER_S": "0",
        }
        async with (
            platform(servers, database, lambda name: servers.environment(name, database)) as around,
            around.registry(**settings) as registry,
            _watched(registry) as peak,
        ):
            figures: Figures = {}
            if "save" in parts:
                figures |= await _save_all(report, around, folder)
            if "collect" in parts:
                figures |= await _collect(report, around)
            figures["rss_mib"] = peak.mib
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        servers.close()
    return figures


async def _save_all(report: Report, around: Platform, folder: Path) -> Figures:
    rounds: list[Round] = []
    for number in range(1, ROUNDS + 1):
        one = await _save(around, folder, number)
        report.say(f"sent in {one.sent_s:.2f} s, saved after {one.saved_s:.2f} s; bare {one.bare_s:.2f} s")
        rounds.append(one)
    clean = "SELECT count(*) FROM registry.checkpoint WHERE is_fully_recorded"
    report.check("left_nothing_to_look_for", ROUNDS, await around.count(clean))
    return {
        "throughput_ratio": median(one.bare_s / one.saved_s for one in rounds),
        "sent_ratio": median(one.bare_s / one.sent_s for one in rounds),
        "saved_s": median(one.saved_s for one in rounds),
        "bare_s": median(one.bare_s for one in rounds),
    }


async def _save(around: Platform, folder: Path, number: int) -> Round:
    run = around.scheduler.grant()
    directory, records = folder / f"files-{number}", folder / f"records-{number}"
    for made in (directory, records):
        made.mkdir()
    contents = [os.urandom(FILE_MIB * MIB) for _ in range(FILES)]
    for index, content in enumerate(contents):
        (directory / f"part-{index}.bin").write_bytes(content)
    asked, settled = Asked(around), asyncio.get_running_loop().create_future()
    async with new_session() as session:
        transfer = Transfer(session)
        uploads = Uploads(
            records,
            asked,
            UploadEvents(
                transfer.put, transfer.put_part, lambda: None, settled.set_result, lambda record, reason: None
            ),
        )
        began = time.perf_counter()
        uploads.add(
            Announced(
                run_id=run.id,
                checkpoint_id=CheckpointId(new_id(CLOCK)),
                number=1,
                step=10,
                directory=directory,
                after_report=0,
            )
        )
        sending = asyncio.create_task(uploads.run())
        found = await asyncio.wait_for(settled, TIMEOUT_S)
        ended = time.perf_counter()
        sending.cancel()
    assert found.state == "saved"
    shutil.rmtree(directory)
    began_bare = time.perf_counter()
    await asyncio.to_thread(_put, _client(around), contents, number)
    return Round(asked.sent_at - began, ended - began, time.perf_counter() - began_bare)


def _put(client: Minio, contents: list[bytes], number: int) -> None:
    """Send as many bytes in as many files, as a program does that has nothing else to do."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for sent in [
            threads.submit(
                client.put_object,
                BUCKET,
                f"bench/{number}-{index}",
                BytesIO(content),
                len(content),
                part_size=len(content),
            )
            for index, content in enumerate(contents)
        ]:
            sent.result()


async def _collect(report: Report, around: Platform) -> Figures:
    """How long it takes until nothing is left of what goes, and all deletions are told."""
    run = around.scheduler.grant()
    began = time.perf_counter()
    await _store_many(around, run)
    report.say(
        f"{CHECKPOINTS} checkpoints of {OWN + 1} files laid down in {time.perf_counter() - began:.0f} s"
    )
    before = await _deletions(around)
    dry = await around.buses["gateway"].ask(
        CollectCheckpoints(experiment_id=run.experiment, dry_run=True), DEFAULT_TENANT, 60
    )
    report.check("told_by_dry_run", CHECKPOINTS - KEPT, dry.count)
    report.check("freed_bytes", (CHECKPOINTS - KEPT) * OWN, dry.freed_bytes)
    began = time.perf_counter()
    found = await around.buses["gateway"].ask(
        CollectCheckpoints(experiment_id=run.experiment), DEFAULT_TENANT, 60
    )
    report.say(f"decided in {time.perf_counter() - began:.2f} s")
    report.check("collected", CHECKPOINTS - KEPT, found.count)
    left = "SELECT count(*) FROM registry.object WHERE key LIKE 'bench-gc/%'"
    async with asyncio.timeout(TIMEOUT_S):
        while await around.count(left) > KEPT * OWN + 1:
            await asyncio.sleep(LOOK_S)
    deletion_s = time.perf_counter() - began
    async with store(around) as objects:
        stored = [one.key async for one in objects.list("bench-gc/")]
    report.check("left_in_store", KEPT * OWN + 1, len(stored))
    report.check("deleted", CHECKPOINTS - KEPT, await _deletions(around) - before)
    return {"gc_per_s": (CHECKPOINTS - KEPT) / deletion_s}


async def _store_many(around: Platform, run: Run) -> None:
    """Saved checkpoints as commits leave them, and their objects in the store: laid down, as ten thousand commits would take minutes."""
    pairs = [(number, own) for number in range(CHECKPOINTS) for own in range(OWN)]
    keys = iter(["bench-gc/shared", *(f"bench-gc/{number}-{own}" for number, own in pairs)])
    async with store(around) as objects, aiohttp.ClientSession() as session:

        async def put() -> None:
            for key in keys:
                content = b"shared" if key.endswith("shared") else b"x"
                async with session.put(objects.presign_put(key, LIFE), data=content) as answer:
                    answer.raise_for_status()

        await asyncio.gather(*(put() for _ in range(LAYERS)))
    facts = run.experiment, run.tenant
    await around.rows("INSERT INTO registry.experiment (id, tenant) VALUES ($1, $2)", *facts)
    trials = [UUID(int=run.trial.int + number) for number in range(KEPT)]
    await around.rows(
        "INSERT INTO registry.trial (id, tenant, experiment, metric, is_final)"
        " SELECT unnest($3::uuid[]), $2, $1, 'loss', true", *facts, trials,
    )  # fmt: skip
    await around.rows(
        "INSERT INTO registry.checkpoint (id, tenant, experiment, trial, run, run_number, token, number, step, state,"
        " version, upload_rounds, is_fully_recorded, files, size_bytes, created_at, changed_at)"
        " SELECT gen_random_uuid(), $2, $1, ($3::uuid[])[1 + n % $5], $4, 1, 1, n + 1, n, 'saved', 4, 1, true, 3, 8, now(), now()"
        " FROM generate_series(0, $6 - 1) n", *facts, trials, run.id, KEPT, CHECKPOINTS,
    )  # fmt: skip
    await around.rows(
        "INSERT INTO registry.checkpoint_file (checkpoint, path, tenant, worker, key, size_bytes, sha256)"
        " SELECT c.id, 'own-' || own, c.tenant, 'w-1', 'bench-gc/' || c.step || '-' || own, 1, repeat('a', 64)"
        " FROM registry.checkpoint c, generate_series(0, $2 - 1) own WHERE c.run = $1"
        " UNION ALL SELECT c.id, 'shared', c.tenant, 'w-1', 'bench-gc/shared', 6, repeat('b', 64)"
        " FROM registry.checkpoint c WHERE c.run = $1", run.id, OWN,
    )  # fmt: skip
    await around.rows(
        "INSERT INTO registry.object (key, tenant, sha256, size_bytes)"
        " SELECT DISTINCT key, tenant, md5(key) || md5(key), size_bytes FROM registry.checkpoint_file WHERE key LIKE 'bench-gc/%'"
    )
    await around.rows("ANALYZE registry.checkpoint, registry.checkpoint_file, registry.object")


async def _deletions(around: Platform) -> int:
    return await around.count(
        "SELECT count(*) FROM registry.outbox WHERE subject LIKE '%.checkpoint.deleted'"
    )


@asynccontextmanager
async def _watched(registry: Registry) -> AsyncIterator[Peak]:
    peak = Peak(registry)
    watching = asyncio.create_task(peak.watch())
    try:
        yield peak
    finally:
        watching.cancel()


def _client(around: Platform) -> Minio:
    s3 = around.servers.s3
    access, secret = s3.platform
    return Minio(s3.url.removeprefix("http://"), access_key=access, secret_key=secret, secure=False)


if __name__ == "__main__":
    run("checkpoints", measure)
