"""From a demand to the launch call, and five hundred machines wanted at once: the real provisioner, on NATS and Postgres, against moto.

The proxy before moto allows 2 calls a second that change something, with bursts of 5, as EC2 does, and has 42 machines of each of twelve offers
(three kinds, four zones). A demand is timed from its publication until the launch call arrives; before each, the bucket is full again. All at
once are done when a look has shown each of them running, or AWS has refused it, and nothing waits; `placed_s` is when the last call was on record.
A look is answered anew every 5 s only: moto needs seconds of processor time to show 500 machines, which EC2 does not. It is a process of its own, so
that it takes none from the clock that is read here.
"""

import asyncio
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from statistics import median

from deploy.embedded.host.ports import free_ports
from tests.bench.harness import Figures, Report, run
from tests.integration.provisioner.neighbours import around
from tests.integration.provisioner.renting import Rented
from tests.integration.servers import Servers
from tests.support.ec2_proxy import faulty_ec2
from tests.support.waiting import eventually

DEMANDS, MACHINES = 21, 500
KINDS = ("g5.xlarge", "g6.xlarge", "g4dn.xlarge")
ZONES = tuple(f"us-east-1{letter}" for letter in "abcd")
PER_S, BURST, CAPACITY = 2.0, 5, 42
SETTLES_S = 1.5
"""Between two demands: the call before is on record, and the bucket full again."""
TIMEOUT_S = 60.0


def measure(report: Report) -> Figures:
    return asyncio.run(_measure(report))


async def _measure(report: Report) -> Figures:
    report.inputs(
        demands=DEMANDS, machines=MACHINES, kinds=len(KINDS), zones=len(ZONES), per_s=PER_S, burst=BURST
    )
    servers = Servers()
    port = free_ports(1)[0]
    moto = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "moto.server", "--port", str(port)), stdout=DEVNULL, stderr=DEVNULL
    )
    try:
        await eventually(lambda: _answers(port))
        figures: Figures = {}
        for part in (_launches, _burst):
            with tempfile.TemporaryDirectory() as folder:
                database = servers.migrated_database()
                servers.clear_bus()
                environment = servers.environment("provisioner", database)
                async with (
                    around(servers, database, environment, Path(folder) / "workers") as world,
                    faulty_ec2(f"http://127.0.0.1:{port}") as ec2,
                ):
                    prices = {place: 1.0 + at / 100 for at, place in enumerate(product(KINDS, ZONES))}
                    figures |= await part(report, Rented(world, ec2, Path(folder), prices))
        return figures
    finally:
        moto.terminate()
        await moto.wait()
        servers.close()


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def _launches(report: Report, rented: Rented) -> Figures:
    """One machine more at a time, each from its demand to its call."""
    took_ms = []
    async with rented.world.provisioner(**rented.settings()):
        await rented.define()
        for number in range(1, DEMANDS + 1):
            await asyncio.sleep(SETTLES_S)
            began = time.monotonic()
            await rented.need(number)
            while len(rented.ec2.asked_at) < number and time.monotonic() - began < TIMEOUT_S:
                await asyncio.sleep(0.002)
            took_ms.append((rented.ec2.asked_at[number - 1] - began) * 1000)
    report.check("launches", DEMANDS, rented.ec2.calls["RunInstances"])
    return {"launch_median_ms": median(took_ms), "launch_max_ms": max(took_ms)}


async def _burst(report: Report, rented: Rented) -> Figures:
    """All at once; over when every machine that was wanted runs or was refused."""
    rented.ec2.faults.per_s, rented.ec2.faults.burst = PER_S, BURST
    rented.ec2.faults.stale_for_s = 5.0
    rented.ec2.faults.capacity = dict.fromkeys(rented.prices, CAPACITY)
    async with rented.world.provisioner(**rented.settings()):
        await rented.define()
        await asyncio.sleep(SETTLES_S)
        began = time.monotonic()
        await rented.need(MACHINES)
        states: dict[str, int] = {}
        placed_s = 0.0
        while time.monotonic() - began < TIMEOUT_S:
            states = await rented.states()
            if not placed_s and _made(states) >= MACHINES and not states.get("requested"):
                placed_s = time.monotonic() - began
            if placed_s and not states.get("launching"):
                break
            await asyncio.sleep(0.05)
        seconds = time.monotonic() - began
    report.say(f"states: {states}; calls: {dict(rented.ec2.calls)}; throttled: {rented.ec2.throttled}")
    report.check("machines", MACHINES, states.get("joining", 0))
    return {
        "burst_s": seconds,
        "placed_s": placed_s,
        "burst_calls": rented.ec2.calls["RunInstances"],
        "throttled": rented.ec2.throttled,
    }


def _made(states: Mapping[str, int]) -> int:
    return states.get("launching", 0) + states.get("joining", 0)


if __name__ == "__main__":
    run("provision_latency", measure)
