"""EC2 with its faults: in front of moto's server, which never runs out of machines, forgets client tokens, and answers at once and rightly.

What it adds: capacity by kind and zone with partial success, idempotent client tokens, a token bucket for changes, failures after success,
machines that a look shows late, looks that are stale, and errors by name.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode
from xml.etree import ElementTree as ET

import aiohttp
from aiohttp import web

XML = "text/xml;charset=UTF-8"
_INSTANCE = re.compile(r"<instanceId>(i-[0-9a-f]+)</instanceId>")
_NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15"
_STATUS = {
    "RequestLimitExceeded": 503,
    "InternalError": 500,
    "AuthFailure": 401,
    "UnauthorizedOperation": 403,
}
Fields = dict[str, str]


@dataclass
class Faults:
    """How EC2 behaves from now on.

    Attributes:
        capacity: Machines left of (kind, zone); not named: as many as one likes.
        refusals: Error codes, by action; each is said once, in order.
        fails_after: How often a launch is carried out and then answered with an error 500.
        hangs_up_after: How often a launch is carried out and the connection is then closed.
        shows_after_s: How old a machine is when a look first shows it, and ending it is first understood.
        stale_for_s: A look of that age is answered again.
        per_s: Changes that the bucket is refilled with each second; None: no limit. `burst`: what it holds.
    """

    capacity: dict[tuple[str, str], int] = field(default_factory=dict)
    refusals: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    fails_after: int = 0
    hangs_up_after: int = 0
    shows_after_s: float = 0.0
    stale_for_s: float = 0.0
    per_s: float | None = None
    burst: int = 5


class FaultyEc2:
    """The proxy. `calls` counts by action what was asked, `throttled` what was refused for its pace; `asked_at`: when each launch came, by the
    monotonic clock, also one that was refused."""

    def __init__(self, moto: str) -> None:
        self.faults = Faults()
        self.calls: Counter[str] = Counter()
        self.throttled = 0
        self.asked_at: list[float] = []
        self.url = ""
        self._moto = moto
        self._by_token: dict[str, tuple[Fields, int, bytes]] = {}
        self._made_at: dict[str, float] = {}
        self._looks: dict[str, tuple[float, bytes]] = {}
        self._level, self._filled_at = 0.0, float("-inf")

    def begin_anew(self) -> None:
        """Without faults, and without the looks that were answered; machines and client tokens stay."""
        self.faults = Faults()
        self.throttled = 0
        self._looks.clear()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        fields = dict(parse_qsl(await request.text()))
        action = fields["Action"]
        self.calls[action] += 1
        if action == "RunInstances":
            self.asked_at.append(time.monotonic())
        is_change = not action.startswith("Describe")
        if is_change and not self._take():
            self.throttled += 1
            return _error("RequestLimitExceeded", "Request limit exceeded.")
        if self.faults.refusals[action]:
            code = self.faults.refusals[action].pop(0)
            return _error(code, f"as the test wants it: {code}")
        headers = {
            "Content-Type": request.headers["Content-Type"],
            "Authorization": request.headers["Authorization"],
        }
        match action:
            case "RunInstances":
                return await self._launch(request, fields, headers)
            case "DescribeInstances":
                return await self._look(fields, headers)
            case "TerminateInstances":
                unseen = [
                    value
                    for name, value in fields.items()
                    if name.startswith("InstanceId.") and self._is_unseen(value)
                ]
                if unseen:
                    ids = ", ".join(unseen)
                    return _error("InvalidInstanceID.NotFound", f"The instance IDs '{ids}' do not exist")
        return _answer(*await self._ask(fields, headers))

    async def _launch(self, request: web.Request, fields: Fields, headers: Fields) -> web.StreamResponse:
        token = fields["ClientToken"]
        if token in self._by_token:
            before, status, body = self._by_token[token]
            if before != fields:
                return _error("IdempotentParameterMismatch", "another request had this client token")
            return _answer(status, body)
        place = fields["InstanceType"], fields.get("Placement.AvailabilityZone", "")
        left = self.faults.capacity.get(place, 10**9)
        wanted = int(fields["MaxCount"])
        if left < int(fields["MinCount"]):
            return _error(
                "InsufficientInstanceCapacity", f"We currently do not have sufficient {place[0]} capacity"
            )
        count = min(left, wanted)
        # Taken before anything is awaited: calls come side by side.
        if place in self.faults.capacity:
            self.faults.capacity[place] -= count
        # moto makes as many as the least that is asked for.
        status, body = await self._ask(fields | {"MinCount": str(count)}, headers)
        self._by_token[token] = fields, status, body
        self._made_at |= dict.fromkeys(_INSTANCE.findall(body.decode()), time.monotonic())
        if self.faults.fails_after > 0:
            self.faults.fails_after -= 1
            return _error("InternalError", "An internal error has occurred")
        if self.faults.hangs_up_after > 0:
            self.faults.hangs_up_after -= 1
            assert request.transport is not None
            request.transport.close()
        return _answer(status, body)

    async def _look(self, fields: Fields, headers: Fields) -> web.StreamResponse:
        question = urlencode(sorted(fields.items()))
        at, body = self._looks.get(question, (float("-inf"), b""))
        if time.monotonic() - at < self.faults.stale_for_s:
            return _answer(200, body)
        status, body = await self._ask(fields, headers)
        if self.faults.shows_after_s > 0:
            body = self._without_unseen(body)
        self._looks[question] = time.monotonic(), body
        return _answer(status, body)

    def _without_unseen(self, body: bytes) -> bytes:
        tree = ET.fromstring(body)
        for group in tree.iter(f"{{{_NAMESPACE}}}instancesSet"):
            for one in list(group):
                if self._is_unseen(one.findtext(f"{{{_NAMESPACE}}}instanceId", "")):
                    group.remove(one)
        return ET.tostring(tree, default_namespace=_NAMESPACE)

    def _is_unseen(self, name: str) -> bool:
        return time.monotonic() - self._made_at.get(name, float("-inf")) < self.faults.shows_after_s

    def _take(self) -> bool:
        if self.faults.per_s is None:
            return True
        now = time.monotonic()
        self._level = min(self.faults.burst, self._level + (now - self._filled_at) * self.faults.per_s)
        self._filled_at = now
        if self._level < 1:
            return False
        self._level -= 1
        return True

    async def _ask(self, fields: Fields, headers: Fields) -> tuple[int, bytes]:
        async with (
            aiohttp.ClientSession() as session,
            session.post(self._moto, data=urlencode(fields), headers=headers) as answer,
        ):
            return answer.status, await answer.read()


@asynccontextmanager
async def faulty_ec2(moto: str) -> AsyncIterator[FaultyEc2]:
    """A proxy before moto's server at this address, on a port of its own."""
    proxy = FaultyEc2(moto)
    application = web.Application()
    application.router.add_post("/", proxy.serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield proxy
    finally:
        await runner.cleanup()


def _answer(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": XML})


def _error(code: str, message: str) -> web.Response:
    body = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors><RequestID>r</RequestID></Response>"
    return _answer(_STATUS.get(code, 400), body.encode())
