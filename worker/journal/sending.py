"""Sends a run's journals to the registry: records are JSON already and become a batch without decoding."""

from collections.abc import Callable, Coroutine
from typing import Any

from shared import telemetry
from shared.messages.reports import LogBatch, Mark, ProfileBatch, ReportBatch
from worker.connection.platform_connection import PlatformConnection
from worker.store.records import KeptRun

REQUEST_S = 10.0
Send = Callable[[int, list[bytes]], Coroutine[Any, Any, Mark]]


def report_sender(kept: KeptRun, platform: PlatformConnection) -> Send:
    trace = f',"traceparent":"{kept.allocation.traceparent}"' if kept.allocation.traceparent else ""
    send_plainly = _sender(ReportBatch, "reports", kept, platform, trace)

    async def send(first: int, payloads: list[bytes]) -> Mark:
        if first > 1:
            return await send_plainly(first, payloads)
        with telemetry.span("send first report", parent=trace_of(kept), run=kept.run.run_id):
            return await send_plainly(first, payloads)

    return send


def log_sender(kept: KeptRun, platform: PlatformConnection) -> Send:
    return _sender(LogBatch, "logs", kept, platform)


def profile_sender(kept: KeptRun, platform: PlatformConnection) -> Send:
    return _sender(ProfileBatch, "profile", kept, platform)


def trace_of(kept: KeptRun) -> dict[str, str]:
    return {"traceparent": kept.allocation.traceparent} if kept.allocation.traceparent else {}


def _sender(
    kind: type[ReportBatch | LogBatch | ProfileBatch],
    stream: str,
    kept: KeptRun,
    platform: PlatformConnection,
    extra: str = "",
) -> Send:
    head = f'{{"run_id":"{kept.run.run_id}","stream":"{stream}","first":'.encode()
    tail = f"]{extra}}}".encode()

    async def send(first: int, payloads: list[bytes]) -> Mark:
        payload = b"".join((head, str(first).encode(), b',"records":[', b",".join(payloads), tail))
        return await platform.send(kind, payload, timeout_s=REQUEST_S)

    return send
