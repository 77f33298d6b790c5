"""What is logged, as an operator would read it: whatever the process that runs the tests has set up for its own logs."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from structlog.testing import capture_logs
from structlog.typing import EventDict


@contextmanager
def captured_events() -> Iterator[list[EventDict]]:
    """The events of every level that are logged inside, in order."""
    before = structlog.get_config()
    structlog.reset_defaults()
    try:
        with capture_logs() as events:
            yield events
    finally:
        structlog.configure(**before)
