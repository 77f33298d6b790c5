"""Sends a run's journals to the registry: records are JSON already and become a batch without decoding."""

from collections.abc import Callable, Coroutine
from typing import Any

from shared import telemetry
from shared.messages.reports import LogBatch, Mark, ProfileBatch, ReportBatch
from worker.connection.platform_connection import PlatformConnection
from worker.store.records import StoredRun

REQUEST_S = 10.0
Send = Callable[[int, list[bytes]], Coroutine[Any, Any, Mark]]


def report_sender(stored: StoredRun, platform: PlatformConnection) -> Send:
    trace = f',"traceparent":"{stored.allocation.traceparent}"' if stored.allocation.traceparent else ""
    send_plainly = _sender(ReportBatch, "reports", stored, platform, trace)

    async def send(first: int, payloads: list[bytes]) -> Mark:
        if first > 1:
            return await send_plainly(first, payloads)
        with telemetry.span("send first report", parent=trace_of(stored), run=stored.run.run_id):
            return await send_plainly(first, payloads)

    return send


def log_sender(stored: StoredRun, platform: PlatformConnection) -> Send:
    return _sender(LogBatch, "logs", stored, platform)


def profile_sender(stored: StoredRun, platform: PlatformConnection) -> Send:
    return _sender(ProfileBatch, "profile", stored, platform)


def trace_of(stored: StoredRun) -> dict[str, str]:
    return {"traceparent": stored.allocation.traceparent} if stored.allocation.traceparent else {}


def _sender(
    kind: type[ReportBatch | LogBatch | ProfileBatch],
    stream: str,
    stored: StoredRun,
    platform: PlatformConnection,
    extra: str = "",
) -> Send:
    head = f'{{"run_id":"{stored.run.run_id}","stream":"{stream}","first":'.encode()
    tail = f"]{extra}}}".encode()

    async def send(first: int, payloads: list[bytes]) -> Mark:
        payload = b"".join((head, str(first).encode(), b',"records":[', b",".join(payloads), tail))
        return await platform.send(kind, payload, timeout_s=REQUEST_S)

    return send
