"""Workers that cost next to nothing: they speak the real protocol by raw JSON, run nothing, and end each run after a while.

All share one connection, so that what a benchmark measures is the scheduler.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.auth.nats_jwt import KeyKind, new_seed, public_key
from shared.bus import Bus
from shared.ids import SITE, PoolName, WorkerId
from shared.messages.workers import IssueJoin, Join

POOL = PoolName("default")
HEARTBEAT_S = 1.0


@dataclass(slots=True)
class Machine:
    """What one worker has, as it tells it."""

    name: str
    slots: int
    incarnation: str = field(default_factory=lambda: str(uuid4()))
    sequence: int = 0
    epoch: int = 0
    has: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_due: bool = False

    def observed(self) -> bytes:
        self.sequence += 1
        return orjson.dumps(
            {
                "worker": self.name,
                "incarnation": self.incarnation,
                "sequence": self.sequence,
                "epoch": self.epoch,
                "pool": POOL,
                "address": "127.0.0.1",
                "slots": [{"id": number, "kind": "cpu"} for number in range(self.slots)],
                "allocations": list(self.has.values()),
            }
        )


class Fleet:
    """Machines of equal size. `started` counts the runs by token; a run lasts `hold_s`."""

    def __init__(self, client: Client, machines: int, slots: int, hold_s: float) -> None:
        self.hold_s = hold_s
        self.started: dict[int, int] = {}
        self._client = client
        self._machines = {name: Machine(name, slots) for name in (f"m{number}" for number in range(machines))}
        self._seen = ""
        self._beating: asyncio.Task[None] | None = None

    async def join(self, bus: Bus) -> None:
        """All get credentials from the leader, as they would, and are heard from then on."""
        self._seen = self._client.new_inbox()
        await self._client.subscribe(self._seen, cb=_ignore)
        await self._client.subscribe("wrk.v1.*.desired", cb=self._on_desired)
        for number, name in enumerate(self._machines):
            issued = await bus.ask(IssueJoin(pool=POOL), SITE)
            key = public_key(new_seed(KeyKind.USER, number.to_bytes(32, "big")))
            await bus.ask(
                Join(token=issued.token, worker=WorkerId(name), user_key=key, pool=POOL, address="127.0.0.1"),
                SITE,
            )
        self._beating = asyncio.create_task(self._beat())

    def running(self) -> dict[str, str]:
        """The worker of each run that goes on."""
        return {
            has["run_id"]: one.name
            for one in self._machines.values()
            for has in one.has.values()
            if has["state"] == "running"
        }

    def leave(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    async def _on_desired(self, message: Msg) -> None:
        machine = self._machines[message.subject.split(".")[2]]
        desired = orjson.loads(message.data)
        machine.epoch = desired["epoch"]
        named = {allocation["allocation_id"] for allocation in desired["allocations"]}
        for removed in machine.has.keys() - named:
            del machine.has[removed]
        for allocation in desired["allocations"]:
            self._follow(machine, allocation)
        await self._client.publish(message.reply, machine.observed())

    def _follow(self, machine: Machine, allocation: dict[str, Any]) -> None:
        has = machine.has.get(allocation["allocation_id"])
        if has is not None:
            has["signal"], has["decide_at"] = allocation["signal"], allocation["decide_at"]
            return
        assert allocation["spec"] is not None, "a new allocation comes with its spec"
        token = allocation["token"]
        self.started[token] = self.started.get(token, 0) + 1
        fields = ("allocation_id", "run_id", "token", "generation", "signal", "decide_at")
        has = {name: allocation[name] for name in fields} | {"state": "running"}
        machine.has[allocation["allocation_id"]] = has
        asyncio.get_running_loop().call_later(self.hold_s, self._end, machine, has)

    def _end(self, machine: Machine, has: dict[str, Any]) -> None:
        """The run exits; what ends at the same moment is told at once."""
        has |= {"state": "exited", "exit_code": 0}
        if not machine.is_due:
            machine.is_due = True
            asyncio.get_running_loop().call_soon(lambda: asyncio.create_task(self._say(machine)))

    async def _say(self, machine: Machine) -> None:
        machine.is_due = False
        await self._client.publish(f"wrq.v1.{machine.name}.observed", machine.observed(), reply=self._seen)

    async def _beat(self) -> None:
        """Each once a second, spread over it as daemons of many machines are."""
        while True:
            for machine in self._machines.values():
                await self._say(machine)
                await asyncio.sleep(HEARTBEAT_S / len(self._machines))


async def _ignore(_: Msg) -> None:
    """The leader's answer says its epoch only."""
