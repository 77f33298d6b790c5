"""Reclaim notices of the cloud: polled from its metadata service, reported to the scheduler and in each run's log."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

import aiohttp
import orjson
from pydantic import TypeAdapter, ValidationError

from muster.errors import Transient
from shared.clock import Clock
from shared.messages.allocations import MOST_STEP_S, ReclaimNotice
from shared.runtime.outages import Outages
from worker.machine.metadata import AwsMetadata, GcpMetadata
from worker.settings import WorkerSection

EVERY_S = 2.0
GCP_NOTICE = timedelta(seconds=30)
"""Compute Engine ends a machine this long after the preemption notice."""
_ASKING = "asking the cloud's metadata service for reclaim notices"
_Time = TypeAdapter(datetime)


@dataclass(frozen=True, slots=True)
class Notice:
    """The cloud reclaims the machine. `at` None: it is only likely, or the time is unknown."""

    reason: str
    at: datetime | None = None


class Source(Protocol):
    """A source of reclaim notices."""

    async def look(self, now: datetime) -> Notice | None:
        """Return the current notice. Raises Transient without an answer."""


class AwsNotices:
    """EC2's `spot/instance-action` and `events/recommendations/rebalance`, by IMDSv2."""

    def __init__(self, session: aiohttp.ClientSession, url: str | None = None) -> None:
        self._metadata = AwsMetadata(session, url)

    async def look(self, now: datetime) -> Notice | None:
        """See `Source`."""
        if (text := await self._metadata.get("meta-data/spot/instance-action")) is not None:
            action, at = _fields(text, "action", "time")
            return Notice(f"AWS reclaims this spot instance ({action})", _time(at))
        if await self._metadata.get("meta-data/events/recommendations/rebalance") is not None:
            return Notice("AWS recommends leaving this spot instance (rebalance)")
        return None


class GcpNotices:
    """Compute Engine's `instance/preempted`."""

    def __init__(self, session: aiohttp.ClientSession, url: str | None = None) -> None:
        self._metadata = GcpMetadata(session, url)
        self._seen_at: datetime | None = None

    async def look(self, now: datetime) -> Notice | None:
        """See `Source`."""
        text = await self._metadata.get("preempted")
        if text is None or text.strip().upper() != "TRUE":
            return None
        self._seen_at = self._seen_at or now
        return Notice("Google Cloud preempts this machine", self._seen_at + GCP_NOTICE)


class NoticeWatch:
    """Polls the source and keeps the last notice; `on_notice` gets each new one."""

    def __init__(self, source: Source | None, clock: Clock, on_notice: Callable[[str], None]) -> None:
        self._source = source
        self._clock = clock
        self._on_notice = on_notice
        self._notice: Notice | None = None
        self._outages = Outages()

    def leaving(self) -> ReclaimNotice | None:
        """Return the notice for the scheduler, with the remaining time."""
        if self._notice is None:
            return None
        return ReclaimNotice(reason=self._notice.reason[:200], in_s=self._left_s(self._notice))

    async def run(self) -> None:
        """Poll every two seconds; without an answer the last notice stays."""
        while self._source is not None:
            try:
                notice = await self._source.look(self._clock.now())
            except Transient as error:
                self._outages.failed(_ASKING, error)
            else:
                self._outages.worked(_ASKING)
                self._take(notice)
            await asyncio.sleep(EVERY_S)

    def _take(self, notice: Notice | None) -> None:
        before, self._notice = self._notice, notice
        if notice is None or notice == before:
            return
        left_s = self._left_s(notice)
        when = (
            "no new runs start here"
            if left_s is None
            else f"in {left_s:.0f} s: trials save and resume elsewhere"
        )
        self._on_notice(f"{notice.reason}; {when}")

    def _left_s(self, notice: Notice) -> float | None:
        if notice.at is None:
            return None
        return min(MOST_STEP_S, max(0.0, (notice.at - self._clock.now()).total_seconds()))


def notices_of(settings: WorkerSection, session: aiohttp.ClientSession) -> Source | None:
    """Return the source for this machine's cloud; None if none is set."""
    match settings.cloud:
        case None:
            return None
        case "aws":
            return AwsNotices(session, settings.metadata_url)
        case "gcp":
            return GcpNotices(session, settings.metadata_url)


def _fields(text: str, *names: str) -> list[str]:
    """Return fields of a JSON object as text, empty if missing: a notice counts even if it cannot be parsed."""
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        content = None
    return [str(content.get(name, "")) if isinstance(content, dict) else "" for name in names]


def _time(text: str) -> datetime | None:
    try:
        found = _Time.validate_python(text)
    except ValidationError:
        return None
    return found if found.tzinfo is not None else None
