"""Logs at the speed of the registry: lines in by its own path, ten stated searches over a gigabyte in the object store, and how soon a line is seen.

`FULL=1` searches ten gigabytes. `LOGS_MB` sets another size. The lines are packed by the packer's own code and put where it puts them; of more than a
gigabyte the first quarter comes again and again under other names, since lines are dearer to write than to search.
"""

import asyncio
import os
import random
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from shared.ids import DEFAULT_TENANT, ExperimentId, TrialId, WorkerId, derived_id
from shared.messages.base import Hint
from shared.messages.logs import FoundLines, GetLogs, SearchLogs
from shared.messages.reports import LogBatch, Mark
from tests.bench.durable import DurableServers, registry_on
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.logs_site import EXPERIMENTS, NEEDLE, SEED, TRIALS, fill, lines_of
from tests.integration.registry.platform import Platform, Registry
from tests.integration.registry.scheduling import CLOCK, Run
from worker.journal.journal import Journal
from worker.journal.journal_sender import Source
from worker.journal.logs import LogTail, TailEvents
from worker.journal.output_reader import Output

TEXT_MB = int(os.environ.get("LOGS_MB", "10000" if os.environ.get("FULL") else "1000"))
INGEST_RUNS, INGEST_S, BATCH_LINES = 8, 15.0, 3000
TAILED, REPEATS, PAGE = 60, 3, 1000
SEEN_WITHIN_S = 60.0
LITERALS = (
    "loss=",
    "NaN or Inf",
    "epoch 12 step",
    "shard-04711.tar",
    NEEDLE,
    "RuntimeError: nothing of the kind",
    "rank7]",
)
PATTERNS = (r"[A-Z]{14}", r"\b\d{9}\b \b\d{9}\b", r"took \d+\.\d+ ms, data 0\.00[01]$")
"""The first two have no text that the index could be asked for, and no line has them: all is looked through."""


def measure(report: Report) -> Figures:
    report.inputs(
        seed=SEED,
        trials=TRIALS,
        experiments=EXPERIMENTS,
        text_mb=TEXT_MB,
        literals=LITERALS,
        patterns=PATTERNS,
    )
    servers = DurableServers()
    try:
        return asyncio.run(_measure(report, servers))
    finally:
        servers.close()


async def _measure(report: Report, servers: DurableServers) -> Figures:
    async with registry_on(servers, MUSTER_REGISTRY__LOG_PACK_EVERY_S="1") as (around, registry):
        figures: Figures = {**await _tail(around), **await _ingest(around)}
        report.say(f"so far: {figures}")
        peak_mib = _peak_mib(registry)
        await registry.stop()
        text_bytes = await fill(around, TEXT_MB * 1_000_000)
        async with around.registry() as searching:
            figures |= await _search(report, around, text_bytes)
            peak_mib = max(peak_mib, _peak_mib(searching))
    return {**figures, "rss_mib": peak_mib}


async def _ingest(around: Platform) -> Figures:
    """Batches as workers send them, their lines made ready before; each run has one under way."""
    chance = random.Random(SEED)
    records = [
        _record(text, number) for number, text in enumerate(lines_of(chance, BATCH_LINES * INGEST_RUNS))
    ]
    runs = [around.scheduler.grant() for _ in range(INGEST_RUNS)]
    began = time.perf_counter()

    async def send(place: int, one: Run) -> int:
        first, mine = 1, b",".join(records[place * BATCH_LINES : (place + 1) * BATCH_LINES])
        while time.perf_counter() - began < INGEST_S:
            head = f'{{"run_id":"{one.id}","stream":"logs","first":{first},"records":['.encode()
            subject = LogBatch.subject(WorkerId("w-1"))
            message = await around.buses["w-1"]._request(subject, head + mine + b"]}", {}, 10.0)
            first = Mark.model_validate_json(message.data).next
        return first - 1

    sent = sum(await asyncio.gather(*[send(place, one) for place, one in enumerate(runs)]))
    return {"lines_per_s": sent / (time.perf_counter() - began), "lines_in": sent}


def _record(text: str, number: int) -> bytes:
    level = '"warning"' if text.startswith("WARNING") else "null"
    escaped = text.replace('"', '\\"')
    return f'{{"kind":"log","rank":{number % 8},"stream":"stdout","level":{level},"time_ms":{number},"text":"{escaped}"}}'.encode()


async def _tail(around: Platform) -> Figures:
    """From a print of a rank to the line in the hands of who follows: the worker's reader, journal and sender, the registry, a hint, a page."""
    one, seen, printed = around.scheduler.grant(), dict[str, float](), dict[str, float]()
    woken = asyncio.Event()

    async def wake(_: object) -> None:
        woken.set()

    async def follow() -> None:
        after = 0
        while len(seen) < TAILED:
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await woken.wait()
            woken.clear()
            page = await around.ask(GetLogs(trial_id=TrialId(one.trial), after=after))
            after = page.next
            seen.update((line.text, time.perf_counter()) for line in page.lines)

    async def send(first: int, payloads: list[bytes]) -> Mark:
        head = f'{{"run_id":"{one.id}","stream":"logs","first":{first},"records":['.encode()
        message = await around.buses["w-1"]._request(
            LogBatch.subject(WorkerId("w-1")), head + b",".join(payloads) + b"]}", {}, 10.0
        )
        return Mark.model_validate_json(message.data)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "0.stdout"
        path.touch()
        journal = Journal(Path(folder) / "journal")
        source = Source(journal, send, lambda _: None)
        events = TailEvents(lambda *_: None, lambda: source.wake(False))
        tail = LogTail(journal, Path(folder) / "offsets", [Output(path, 0, "stdout")], CLOCK, events)
        await around.buses["gateway"].subscribe(
            f"live.v{Hint.VERSION}.{DEFAULT_TENANT}.logs.{one.trial}", wake
        )
        tasks = [asyncio.create_task(work) for work in (tail.run(), source.run())]
        following = asyncio.create_task(follow())
        chance = random.Random(SEED)
        with path.open("a") as output:
            for number in range(TAILED):
                await asyncio.sleep(chance.uniform(0.05, 0.4))
                printed[f"line {number}"] = time.perf_counter()
                print(f"line {number}", file=output, flush=True)
        await asyncio.wait_for(following, SEEN_WITHIN_S)
        for task in tasks:
            task.cancel()
    took = [seen[text] - printed[text] for text in printed]
    return {"tail_ms": percentile(took, 0.95) * 1000, "tail_p50_ms": percentile(took, 0.5) * 1000}


async def _search(report: Report, around: Platform, text_bytes: int) -> Figures:
    literal_s, regex_mb = list[float](), list[float]()
    of = tuple(
        ExperimentId(derived_id(DEFAULT_TENANT, "experiment", number)) for number in range(EXPERIMENTS)
    )
    for text in LITERALS:
        for _ in range(REPEATS):
            took, _, found = await _whole(around, SearchLogs(experiments=of, contains=text, limit=PAGE))
            literal_s.append(took)
        report.say(f"literal {text!r}: {took:.3f} s, {found} lines")
    for pattern in PATTERNS:
        took, _, found = await _whole(around, SearchLogs(experiments=of, pattern=pattern, limit=PAGE))
        report.say(
            f"pattern {pattern!r}: {took:.3f} s, {found} lines, {text_bytes / took / 1e6:.0f} MB/s if all was read"
        )
        if not found:
            regex_mb.append(text_bytes / took / 1e6)
    _, first_s, _ = await _whole(around, SearchLogs(experiments=of, pattern=r"id=[0-9a-f]{16}$", limit=1))
    needles = await around.ask(SearchLogs(experiments=of, contains=NEEDLE))
    assert isinstance(needles, FoundLines)
    report.check("needles", 1, len(needles.lines))
    return {
        "literal_p95_s": percentile(literal_s, 0.95),
        "literal_p50_s": percentile(literal_s, 0.5),
        "regex_mb_per_s": min(regex_mb),
        "regex_first_s": first_s,
        "text_mb": text_bytes / 1e6,
    }


async def _whole(around: Platform, query: SearchLogs) -> tuple[float, float, int]:
    """Ask until there are as many lines as wanted, or the end; seconds, seconds to the first line, lines."""
    began, first_s, found = time.perf_counter(), 0.0, 0
    while True:
        page = await around.ask(query)
        found += len(page.lines)
        first_s = first_s or (time.perf_counter() - began if found else 0.0)
        if page.next is None or found >= query.limit:
            return time.perf_counter() - began, first_s, found
        query = query.model_copy(update={"after": page.next})


def _peak_mib(registry: Registry) -> float:
    assert registry.child is not None
    status = Path(f"/proc/{registry.child.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return max(int(peak.split()[1]) / 1024, psutil.Process(registry.child.pid).memory_info().rss / 2**20)


if __name__ == "__main__":
    run("logs", measure)
