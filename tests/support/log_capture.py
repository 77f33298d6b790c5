"""Captures log events as an operator would read them, independent of the logging setup of the test process."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict


@contextmanager
def captured_events() -> Iterator[list[EventDict]]:
    """Yield the list of events of every level that are logged inside, in order."""
    before = structlog.get_config()
    structlog.reset_defaults()
    try:
        with capture_logs() as events:
            yield events
    finally:
        structlog.configure(**before)
