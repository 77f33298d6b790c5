"""Prometheus metrics of a worker: checkpoints that wait for their upload."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from prometheus_client import Gauge

from shared.clock import SystemClock

_UPLOADS_WAITING = Gauge(
    "muster_uploads_waiting",
    "Checkpoints of this worker whose upload has failed for over 2 s and is tried again",
)
_BACKLOG = Gauge("muster_upload_backlog", "Checkpoints of this worker that are not uploaded yet")
_BACKLOG_AGE = Gauge(
    "muster_upload_backlog_age_seconds", "Time since the oldest of the upload backlog was announced"
)


@dataclass(frozen=True, slots=True, eq=False)
class Backlog:
    """The checkpoints of one run that are not uploaded yet, by number: the announcement times, and the failing ones."""

    announced: dict[int, datetime | None] = field(default_factory=dict)
    failing: set[int] = field(default_factory=set)


_backlogs: set[Backlog] = set()


@contextmanager
def backlog_exported(backlog: Backlog) -> Iterator[None]:
    """Include the backlog of a run in the metrics during the block."""
    _backlogs.add(backlog)
    try:
        yield
    finally:
        _backlogs.remove(backlog)


def _age_s() -> float:
    moments = (moment for one in _backlogs for moment in one.announced.values() if moment)
    oldest = min(moments, default=None)
    return 0.0 if oldest is None else max(0.0, (SystemClock().now() - oldest).total_seconds())


_UPLOADS_WAITING.set_function(lambda: sum(len(one.failing) for one in _backlogs))
_BACKLOG.set_function(lambda: sum(len(one.announced) for one in _backlogs))
_BACKLOG_AGE.set_function(_age_s)
