"""`GetExperiment` over gRPC, the platform on one core and the caller on the other; and what a thousand open event streams take of memory.

Beside it the floor: a server of the same library that answers as many bytes and does nothing else, on the same core.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc.aio
import psutil

from services.gateway.transports.grpc.stubs import muster_pb2, muster_pb2_grpc
from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, percentile, run
from tests.bench.pairs import processes_of

SECONDS, AT_ONCE = 15.0, 16
STREAMS, A_CHANNEL, SETTLE_S = 1000, 100, 10.0
CONFIG: dict[str, Any] = {
    "name": "first",
    "entrypoint": "python3 first.py",
    "searcher": {"name": "single", "metric": "loss"},
}


def measure(report: Report) -> Figures:
    report.inputs(seconds=SECONDS, calls_at_once=AT_ONCE, streams=STREAMS, streams_a_channel=A_CHANNEL)
    with platform(workers=1, READS_PER_S="100000", STREAMS_PER_S="100000") as bench:
        gateway = _gateway(bench)
        return asyncio.run(_measure_with(report, bench, gateway))


async def _measure_with(report: Report, bench: Platform, gateway: psutil.Process) -> Figures:
    code = bench.client.experiments.put_code(TRIALS)
    made = bench.client.experiments.create(dict(CONFIG), code)
    bench.until_completed(made.id, 0.1, 60)
    metadata = (("authorization", f"Bearer {bench.client.address.token}"),)
    before_mib = _mib(gateway)
    streams_mib = await _stream(report, bench, gateway, metadata)
    _apart(bench)
    request = muster_pb2.ExperimentRequest(experiment=str(made.id))
    used_s = sum(gateway.cpu_times()[:2])
    ms = await _call(_address(bench), request, metadata)
    used_ms = (sum(gateway.cpu_times()[:2]) - used_s) / len(ms) * 1000
    report.say(
        f"unary: p50 {percentile(ms, 0.5):.2f} ms, p99 {percentile(ms, 0.99):.2f} ms; {used_ms:.3f} ms of the gateway's processor each"
    )
    with _empty(await _answer(_address(bench), request, metadata)) as address:
        floor_ms = await _call(address, request, metadata)
    return {
        "unary_per_s": len(ms) / SECONDS,
        "floor_per_s": len(floor_ms) / SECONDS,
        "streams_mib": streams_mib,
        "before_mib": before_mib,
    }


async def _call(address: str, request: Any, metadata: Any) -> list[float]:
    ms: list[float] = []
    async with grpc.aio.insecure_channel(address) as channel:
        service = muster_pb2_grpc.MusterStub(channel)
        end = time.perf_counter() + SECONDS

        async def ask() -> None:
            while (began := time.perf_counter()) < end:
                await service.GetExperiment(request, metadata=metadata)
                ms.append((time.perf_counter() - began) * 1000)

        await asyncio.gather(*(ask() for _ in range(AT_ONCE)))
    return ms


async def _answer(address: str, request: Any, metadata: Any) -> bytes:
    async with grpc.aio.insecure_channel(address) as channel:
        found = await muster_pb2_grpc.MusterStub(channel).GetExperiment(request, metadata=metadata)
    return bytes(found.SerializeToString())


@contextmanager
def _empty(answer: bytes) -> Iterator[str]:
    """The address of a server that only answers so, on the platform's core."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.empty_grpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert server.stdin is not None and server.stdout is not None
    try:
        os.sched_setaffinity(server.pid, {0})
        print(answer.hex(), file=server.stdin, flush=True)
        yield f"127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.stdin.close()
        server.wait(10)


async def _stream(report: Report, bench: Platform, gateway: psutil.Process, metadata: Any) -> float:
    """The gateway's memory with all streams open, each of which has had an event since it was opened."""
    channels = [
        grpc.aio.insecure_channel(_address(bench), options=[("grpc.use_local_subchannel_pool", 1)])
        for _ in range(STREAMS // A_CHANNEL)
    ]
    request = muster_pb2.WatchEventsRequest()
    calls = []
    for channel in channels:
        service = muster_pb2_grpc.MusterStub(channel)
        opened = [service.WatchEvents(request, metadata=metadata) for _ in range(A_CHANNEL)]
        await asyncio.gather(*(call.initial_metadata() for call in opened))
        calls += opened
    began = time.process_time(), sum(gateway.cpu_times()[:2]), time.monotonic()
    await asyncio.sleep(SETTLE_S)
    idle = (sum(gateway.cpu_times()[:2]) - began[1]) / (time.monotonic() - began[2])
    code = bench.client.experiments.put_code(TRIALS)
    await asyncio.to_thread(bench.client.experiments.create, dict(CONFIG), code)
    sent_at = time.monotonic()
    answers = await asyncio.wait_for(asyncio.gather(*(call.read() for call in calls)), 60)
    report.check("streams_told", STREAMS, sum(bool(event) for event in answers))
    streams_mib = _mib(gateway)
    report.say(
        f"{STREAMS} streams: {streams_mib:.0f} MiB, {idle:.2f} cores of the gateway while nothing happens, "
        f"all told {time.monotonic() - sent_at:.2f} s after a submission"
    )
    for call in calls:
        call.cancel()
    await asyncio.gather(*(channel.close(None) for channel in channels))
    return streams_mib


def _apart(bench: Platform) -> None:
    """The platform on the first core, this process on the second."""
    for process in processes_of(bench):
        with suppress(OSError):
            for thread in Path(f"/proc/{process.pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), {0})
    for thread in Path("/proc/self/task").iterdir():
        os.sched_setaffinity(int(thread.name), {1})


def _gateway(bench: Platform) -> psutil.Process:
    for process in processes_of(bench):
        if "services.gateway" in process.cmdline():
            return process
    raise SystemExit("the gateway's process was not found")


def _address(bench: Platform) -> str:
    return str(json.loads((bench.home / "client.json").read_text())["grpc"])


def _mib(process: psutil.Process) -> float:
    return float(process.memory_full_info().pss) / 2**20


if __name__ == "__main__":
    run("gateway_grpc", measure)
