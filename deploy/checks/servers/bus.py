"""The NATS servers, with the credentials of a process."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nats
from nats.errors import Error as NatsError, NoServersError

from deploy.checks.findings import Finding, error, ok, warning, worst
from deploy.keys.permissions import BUS_KEEPER
from deploy.postgres.urls import SERVICES
from shared.bus import Bus, streams
from shared.bus.connection import MAX_PAYLOAD_BYTES, WorkerIdentity
from shared.errors import Transient

WHY = "All processes exchange messages over NATS."
_CONNECT_S = 3
_READ_STREAMS = frozenset((*SERVICES, BUS_KEEPER))
"""Processes whose credentials permit it."""


@dataclass(frozen=True, slots=True)
class BusLogin:
    """How a process connects. A service has a file, a worker an identity."""

    process: str
    urls: str
    credentials: Path | None = None
    identity: WorkerIdentity | None = None


def check_bus(login: BusLogin) -> Finding:
    """Connect to each server by itself, since a client hides those that do not answer."""
    return asyncio.run(_check_all(login))


async def _check_all(login: BusLogin) -> Finding:
    found = await asyncio.gather(*(_check(url.strip(), login) for url in login.urls.split(",")))
    return worst(found)


async def _check(url: str, login: BusLogin) -> Finding:
    proof: dict[str, Any] = {}
    if login.credentials is not None:
        proof["user_credentials"] = str(login.credentials)
    if login.identity is not None:
        identity = login.identity
        proof |= {"user_jwt_cb": lambda: bytearray(identity.jwt()), "signature_cb": identity.sign}
    reasons: list[Exception] = []

    async def note(reason: Exception) -> None:
        reasons.append(reason)

    try:
        client = await nats.connect(
            url, allow_reconnect=False, max_reconnect_attempts=1, reconnect_time_wait=0, connect_timeout=_CONNECT_S,
            error_cb=note, inbox_prefix=f"_INBOX_{login.process}".encode(), **proof,
        )  # fmt: skip
    except (OSError, NatsError, TimeoutError, ValueError) as failure:
        # The client hides why a server cannot be reached behind `no servers available`.
        return _refused(url, reasons[0] if isinstance(failure, NoServersError) and reasons else failure)
    try:
        if client.max_payload < MAX_PAYLOAD_BYTES:
            return error(
                f"{url} accepts messages of {client.max_payload:,} bytes; Muster sends up to {MAX_PAYLOAD_BYTES:,}",
                f"set `max_payload: {MAX_PAYLOAD_BYTES}` in the server's configuration",
            )
        version = client.connected_server_version
        if login.process in _READ_STREAMS:
            try:
                await Bus(client).stream_state(streams.EVENTS.name)
            except Transient as failure:
                return warning(
                    f"{url} answers, but {failure.message}",
                    "start the bus keeper (python -m deploy.bus_keeper)",
                )
        return ok(f"{url} accepts {login.process}; NATS {version.major}.{version.minor}.{version.patch}")
    finally:
        await client.close()


def _refused(url: str, failure: Exception) -> Finding:
    text = str(failure).removeprefix("nats: ") or type(failure).__name__
    if "authorization" in text.lower() or "authentication" in text.lower():
        return error(
            f"{url} refuses the credentials: {text}",
            "issue new ones: `muster keys init` for services, `muster worker join` with a new token for workers",
        )
    return error(
        f"{url} cannot be reached: {text}",
        "start the server, or correct the address and the firewall between both machines",
    )
