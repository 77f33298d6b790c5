"""Probes each partition of the object store's index by storing, reading and deleting a small object. Neighbour: `s3`, which acts on the result.

SeaweedFS keeps its index in eight databases and picks one by the last byte of the MD5 of an object's folder. Each has a log of its
own; a failed write breaks that log until the process restarts, while the other databases continue. So each of them is probed.
"""

import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import count
from threading import Thread

from deploy.embedded.servers.base import Health
from shared.clock import SystemClock
from shared.objects.signing import Signer

PARTITIONS = 8
FOLDER = ".muster-probe"
TIMEOUT_S = 5.0
MIN_FAILURES = 3
MAX_BACKOFF_FACTOR = 32
_CONTENT = b"probe"
_LIFE = timedelta(minutes=5)
_REGION = "us-east-1"


class FreeSpace(Enum):
    """Free disk space of a store."""

    ENOUGH = auto()
    LITTLE = auto()
    """The store accepts objects; failures may come from the disk and do not count towards a restart."""
    NONE = auto()
    """The store refuses objects."""


Failures = Mapping[int, str]
"""Why an object could not be stored, read or deleted, by partition."""


class StoreProbe:
    """Probes a bucket with the credentials of one identity."""

    def __init__(self, url: str, bucket: str, credentials: tuple[str, str]) -> None:
        self._signer = Signer(*credentials, _REGION)
        self._addresses = [f"{url}/{bucket}/{folder}/object" for folder in probe_folders(bucket)]

    def run(self) -> Failures:
        """Probe every partition once; a store that does not answer fails in all partitions."""
        failures: dict[int, str] = {}
        now = SystemClock().now()
        for partition, address in enumerate(self._addresses):
            try:
                if reason := self._probe(address, now):
                    failures[partition] = reason
            except OSError as error:
                return dict.fromkeys(range(len(self._addresses)), f"no answer: {error}")
        return failures

    def _probe(self, address: str, now: datetime) -> str | None:
        """Return why an object cannot be stored, read and deleted there. Raises OSError without an answer."""
        for method, content in (("PUT", _CONTENT), ("GET", None), ("DELETE", None)):
            url = self._signer.presign(method, address, {}, now, _LIFE)
            request = urllib.request.Request(url, data=content, method=method)
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                    received = answer.read()
            except urllib.error.HTTPError as error:
                # A 4xx answer does not mean that the store is stuck: the bucket may not exist yet.
                return f"{method} failed with status {error.code}" if error.code >= 500 else None
            if method == "GET" and received != _CONTENT:
                return f"GET returned {len(received)} bytes that are not those stored"
        return None


@dataclass(frozen=True, slots=True)
class ProbeTimes:
    """Probe intervals, normal and after a failure, and the duration of failures before a restart."""

    every_s: float = 10.0
    again_s: float = 2.0
    stuck_after_s: float = 20.0


USUAL = ProbeTimes()


@dataclass(frozen=True, slots=True)
class _Failing:
    """A failing partition: since when, and for how many probes in a row."""

    since: float
    count: int
    reason: str


class StuckJudge:
    """Decides from probes whether only a restart helps: one partition failed each of them for `stuck_after_s` while the disk had space.

    The time doubles after each restart that did not help.
    """

    def __init__(self, stuck_after_s: float) -> None:
        self._first_s = self._stuck_after_s = stuck_after_s
        self._failing: dict[int, _Failing] = {}

    def observe(self, now: float, failures: Failures) -> None:
        """Record one round of probes."""
        if not failures:
            self._stuck_after_s = self._first_s
        before = self._failing
        self._failing = {}
        for partition, reason in failures.items():
            was = before.get(partition, _Failing(now, 0, reason))
            self._failing[partition] = _Failing(was.since, was.count + 1, reason)

    def forget(self) -> None:
        """Discard failures that a full disk may have caused."""
        self._failing = {}

    def on_start(self) -> None:
        """Record a start of the store; double the time if it was stuck."""
        if self._failing:
            self._stuck_after_s = min(2 * self._stuck_after_s, self._first_s * MAX_BACKOFF_FACTOR)
        self._failing = {}

    @property
    def trouble(self) -> str:
        """The current failure; empty: none."""
        if not self._failing:
            return ""
        named = ", ".join(map(str, sorted(self._failing)))
        reason = next(iter(self._failing.values())).reason
        return f"it fails to store objects in index partitions {named} of 0 to {PARTITIONS - 1} ({reason})"

    def is_stuck(self, now: float) -> bool:
        """Whether one partition has failed for too long."""
        return any(
            one.count >= MIN_FAILURES and now - one.since >= self._stuck_after_s
            for one in self._failing.values()
        )


class StoreWatch:
    """Probes the store in a separate thread, so that a hanging store blocks nothing."""

    def __init__(self, probe: StoreProbe, times: ProbeTimes) -> None:
        self._probe, self._times = probe, times
        self._judge = StuckJudge(times.stuck_after_s)
        self._round: Future[Failures] | None = None
        self._next_at = 0.0

    def on_start(self) -> None:
        """Discard a running round of probes: it does not concern the new process."""
        self._judge.on_start()
        self._round, self._next_at = None, 0.0

    def check(self, now: float, room: FreeSpace) -> Health:
        """Record a finished round, start the next one if it is due, and return the health."""
        if self._round is not None and self._round.done():
            failures = self._round.result()
            self._round = None
            self._next_at = now + (self._times.again_s if failures else self._times.every_s)
            if room is FreeSpace.LITTLE:
                self._judge.forget()
            self._judge.observe(now, failures)
        if room is FreeSpace.NONE:
            self._judge.forget()
            return Health("the disk that holds its data is full: free some space")
        if self._round is None and now >= self._next_at:
            self._round = _in_thread(self._probe.run)
        is_stuck = room is FreeSpace.ENOUGH and self._judge.is_stuck(now)
        return Health(self._judge.trouble, is_stuck=is_stuck)


def probe_folders(bucket: str, partitions: int = PARTITIONS) -> list[str]:
    """Return one probe directory for each partition, in order."""
    found: dict[int, str] = {}
    for number in count():
        folder = f"{FOLDER}/{number}"
        found.setdefault(partition_of(f"/buckets/{bucket}/{folder}", partitions), folder)
        if len(found) == partitions:
            return [found[partition] for partition in range(partitions)]
    raise AssertionError


def partition_of(folder: str, partitions: int = PARTITIONS) -> int:
    """Return which of SeaweedFS's databases holds the entries of a directory."""
    return hashlib.md5(folder.encode(), usedforsecurity=False).digest()[-1] % partitions


def _in_thread(run: Callable[[], Failures]) -> Future[Failures]:
    """Run it in a daemon thread."""
    promised: Future[Failures] = Future()

    def main() -> None:
        try:
            promised.set_result(run())
        except Exception as error:  # noqa: BLE001 - whatever it is, the store did not pass
            promised.set_result(dict.fromkeys(range(PARTITIONS), repr(error)))

    Thread(target=main, daemon=True, name="store probe").start()
    return promised
