"""Requests to a gateway as other systems send them: at a fixed rate, whether or not it keeps up, from many connections.

A process of its own, so that its processor time is told apart: `python -m tests.bench.traffic` reads a `Traffic` from its standard input as JSON
and prints a `Seen`. A request's time begins when it was due: one that had to wait for a connection has waited.

It shares the machine with what it measures, and so speaks just as much HTTP as it needs: aiohttp's client took a millisecond of a processor for each
request.
"""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from tests.bench.harness import percentile
from tests.bench.plain_http import Connections

ROOT = Path(__file__).parents[2]
MARGIN_S = 60.0
READY_S = 3.0
"""After so long all senders have started, which takes a second of a processor each, and send from the same moment on."""
TIMEOUT_S = 10.0
"""So long after the last request answers are waited for; what has none, or found no free connection, has no status, and so many milliseconds as it waited."""
SAME_KEY = 0.2
"""So many creates come a second time, with the same key."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is sent: `mix` says how often which kind; `known` are experiments that are read and changed."""

    url: str
    token: str
    rate_per_s: float
    seconds: float
    connections: int
    mix: dict[str, float]
    known: list[str]
    config: dict[str, Any]
    code_sha256: str | None = None
    seed: int = 1
    begins: float = 0.0
    """When it is sent from, on the monotonic clock, which all processes share."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of it: milliseconds of each request that was not refused, how many answers of each status (0: none came), the sender's processor time, and the
    milliseconds by kind."""

    ms: list[float]
    statuses: dict[str, int]
    cpu_s: float
    kinds: dict[str, list[float]]

    def by_kind(self) -> dict[str, float]:
        """Of each kind of request the milliseconds that 99 of 100 do not exceed."""
        return {kind: round(percentile(ms, 0.99), 1) for kind, ms in self.kinds.items()}

    def count(self, *firsts: str) -> int:
        """How many answers have a status that begins so."""
        return sum(count for status, count in self.statuses.items() if status.startswith(firsts))


def send(*streams: Traffic) -> list[Seen]:
    """Send all of them at once, each from a process of its own."""
    senders, begins = [], time.monotonic() + READY_S
    for traffic in streams:
        sender = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.traffic"],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert sender.stdin is not None
        sender.stdin.write(json.dumps(asdict(replace(traffic, begins=begins))))
        sender.stdin.close()
        senders.append((sender, traffic))
    seen = []
    for sender, traffic in senders:
        assert sender.stdout is not None
        output = sender.stdout.read()
        if sender.wait(traffic.seconds + MARGIN_S) != 0:
            raise SystemExit(
                f"the sender of {traffic.rate_per_s:g} requests a second failed: {output[-2000:]}"
            )
        seen.append(Seen(**json.loads(output)))
    return seen


@dataclass(slots=True)
class _Sender:
    traffic: Traffic
    connections: Connections
    chance: random.Random
    ms: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    kinds: dict[str, list[float]] = field(default_factory=dict)

    async def run(self) -> None:
        """Sends until the time is over, then waits for what is on its way, for a while."""
        kinds, parts = list(self.traffic.mix), list(self.traffic.mix.values())
        began = due = max(self.traffic.begins, time.monotonic())
        await asyncio.sleep(began - time.monotonic())
        with suppress(TimeoutError):
            async with asyncio.timeout(self.traffic.seconds + TIMEOUT_S), asyncio.TaskGroup() as group:
                while due < began + self.traffic.seconds:
                    if (ahead := due - time.monotonic()) > 0:
                        await asyncio.sleep(ahead)
                    kind = self.chance.choices(kinds, parts)[0]
                    group.create_task(self._ask(due, kind, *_KINDS[kind](self)))
                    due += self.chance.expovariate(self.traffic.rate_per_s)

    async def _ask(
        self, due: float, kind: str, verb: str, path: str, body: Any = None, key: str = ""
    ) -> None:
        status = "0"
        more = {"Authorization": f"Bearer {self.traffic.token}"} | ({"Idempotency-Key": key} if key else {})
        try:
            status = await self.connections.ask(verb, path, more, orjson.dumps(body) if body else b"")
        except OSError:
            pass
        finally:
            if status[0] in "02":
                self.ms.append((time.monotonic() - due) * 1000)
                self.kinds.setdefault(kind, []).append(self.ms[-1])
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def get(self) -> tuple[Any, ...]:
        return "GET", f"/v1/experiments/{self.chance.choice(self.traffic.known)}"

    def list(self) -> tuple[Any, ...]:
        return "GET", "/v1/experiments?limit=50"

    def update(self) -> tuple[Any, ...]:
        body = {"priority": self.chance.randint(1, 99)}
        return "PATCH", f"/v1/experiments/{self.chance.choice(self.traffic.known)}", body

    def create(self) -> tuple[Any, ...]:
        if not self.keys or self.chance.random() > SAME_KEY:
            self.keys.append(f"{self.traffic.seed}-{time.time_ns()}")
        body = {"config": self.traffic.config, "code_sha256": self.traffic.code_sha256}
        return "POST", "/v1/experiments", body, self.keys[-1]


_KINDS: dict[str, Callable[[_Sender], tuple[Any, ...]]] = {
    "get": _Sender.get, "list": _Sender.list, "create": _Sender.create, "update": _Sender.update,
}  # fmt: skip


async def _send(traffic: Traffic) -> Seen:
    with Connections(traffic.url, traffic.connections) as connections:
        sender = _Sender(traffic, connections, random.Random(traffic.seed))
        began = time.process_time()
        await sender.run()
        return Seen(sender.ms, sender.statuses, time.process_time() - began, sender.kinds)


if __name__ == "__main__":
    import uvloop

    seen = uvloop.run(_send(Traffic(**json.load(sys.stdin))))
    # After uvloop a print of more than a pipe takes at once, 64 KiB, loses the rest.
    with open(sys.stdout.fileno(), "wb", closefd=False) as output:
        output.write(orjson.dumps(asdict(seen)))
