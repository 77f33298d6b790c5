"""What the machine's provider says of taking it back: asked of the cloud's metadata service, told to the scheduler and in each run's log."""

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
from shared.messages.allocations import MOST_STEP_S, Leaving
from shared.outages import Outages
from worker.settings import WorkerSettings

EVERY_S = 2.0
ANSWER = aiohttp.ClientTimeout(total=2)
GCP_NOTICE = timedelta(seconds=30)
"""Compute Engine says that it has begun, and ends the machine after so long."""
AWS_URL = "http://169.254.169.254"
GCP_URL = "http://metadata.google.internal"
_ASKING = "asking the cloud whether it takes this machine back"
_Time = TypeAdapter(datetime)


@dataclass(frozen=True, slots=True)
class Notice:
    """The machine is to go. `at` None: only likely, or at an unknown time."""

    reason: str
    at: datetime | None = None


class Source(Protocol):
    """A provider that may take a machine back."""

    async def look(self, now: datetime) -> Notice | None:
        """What it says now; raises Transient without an answer."""


class AwsNotices:
    """EC2's `spot/instance-action` and `events/recommendations/rebalance`, by IMDSv2."""

    def __init__(self, session: aiohttp.ClientSession, url: str = AWS_URL) -> None:
        self._session = session
        self._url = f"{url.rstrip('/')}/latest"
        self._token: str | None = None

    async def look(self, now: datetime) -> Notice | None:
        """As the port says."""
        if (text := await self._get("spot/instance-action")) is not None:
            action, at = _fields(text, "action", "time")
            return Notice(f"AWS takes this spot instance back ({action})", _time(at))
        if await self._get("events/recommendations/rebalance") is not None:
            return Notice("AWS recommends to leave this spot instance (rebalance)")
        return None

    async def _get(self, path: str) -> str | None:
        for _ in range(2):
            if self._token is None:
                ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}
                _, self._token = await _ask(self._session, "PUT", f"{self._url}/api/token", ttl)
            header = {"X-aws-ec2-metadata-token": self._token or ""}
            status, text = await _ask(self._session, "GET", f"{self._url}/meta-data/{path}", header)
            if status != 401:
                return text
            self._token = None  # it ran out
        raise Transient("the metadata service takes no token")


class GcpNotices:
    """Compute Engine's `instance/preempted`."""

    def __init__(self, session: aiohttp.ClientSession, url: str = GCP_URL) -> None:
        self._session = session
        self._url = f"{url.rstrip('/')}/computeMetadata/v1/instance/preempted"
        self._seen_at: datetime | None = None

    async def look(self, now: datetime) -> Notice | None:
        """As the port says."""
        _, text = await _ask(self._session, "GET", self._url, {"Metadata-Flavor": "Google"})
        if text is None or text.strip().upper() != "TRUE":
            return None
        self._seen_at = self._seen_at or now
        return Notice("Google Cloud takes this machine back (preempted)", self._seen_at + GCP_NOTICE)


class NoticeWatch:
    """Asks for ever, and keeps what was said last; `on_notice` hears of each that is new."""

    def __init__(self, source: Source | None, clock: Clock, on_notice: Callable[[str], None]) -> None:
        self._source = source
        self._clock = clock
        self._on_notice = on_notice
        self._notice: Notice | None = None
        self._outages = Outages()

    def leaving(self) -> Leaving | None:
        """For the scheduler, as of now."""
        if self._notice is None:
            return None
        return Leaving(reason=self._notice.reason[:200], in_s=self._left_s(self._notice))

    async def run(self) -> None:
        """Ask every two seconds; a service that does not answer leaves what was known as it is."""
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
            "nothing new starts here" if left_s is None else f"in {left_s:.0f} s: save, and go on elsewhere"
        )
        self._on_notice(f"{notice.reason}; {when}")

    def _left_s(self, notice: Notice) -> float | None:
        if notice.at is None:
            return None
        return min(MOST_STEP_S, max(0.0, (notice.at - self._clock.now()).total_seconds()))


def notices_of(settings: WorkerSettings, session: aiohttp.ClientSession) -> Source | None:
    """The source of this machine's cloud; None where none is set."""
    match settings.cloud:
        case None:
            return None
        case "aws":
            return AwsNotices(session, settings.metadata_url or AWS_URL)
        case "gcp":
            return GcpNotices(session, settings.metadata_url or GCP_URL)


async def _ask(
    session: aiohttp.ClientSession, method: str, url: str, headers: dict[str, str]
) -> tuple[int, str | None]:
    """Status and text; no text where there is nothing of that name."""
    try:
        async with session.request(method, url, headers=headers, timeout=ANSWER) as answer:
            text = await answer.text()
    except (aiohttp.ClientError, TimeoutError, UnicodeDecodeError) as error:
        raise Transient(f"{url} did not answer: {error!r}") from error
    if answer.status in (401, 404):
        return answer.status, None
    if answer.status != 200:
        raise Transient(f"{url} answered {answer.status}")
    return answer.status, text


def _fields(text: str, *names: str) -> list[str]:
    """Fields of a JSON object as text, empty where there are none: a notice that is not understood is one all the same."""
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
