"""For all tests: log lines as a process writes them, the order in which several testers take the files, no test that a slow machine fails,
no search for garbage in what was imported, and at the end where the time went.

structlog's own default draws the locals of every frame, which takes seconds.
"""

import gc
from collections.abc import Generator
from typing import Any

import pytest
import structlog
from hypothesis import settings

from tests.support.file_scheduling import LongestFirst, expected_seconds
from tests.support.time_table import lines, seconds_by_file

settings.register_profile("muster", deadline=None)
settings.load_profile("muster")
structlog.configure(
    processors=[
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso"),
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: a million objects that are never looked through."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: expected_seconds(item.nodeid), reverse=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst | None:
    return LongestFirst(config, log) if config.option.dist == "loadfile" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if terminalreporter.config.getoption("dist", "no") == "loadfile":
        seconds = seconds_by_file(report for reports in terminalreporter.stats.values() for report in reports)
        terminalreporter.section("where the time went, all testers together")
        terminalreporter.write_line("\n".join(lines(seconds)))
