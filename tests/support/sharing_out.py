"""How tests are shared out among several testers: what lasts long begins first, so that none is left with it at the end."""

from itertools import takewhile
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TOGETHER = ("tests/e2e/",)
"""Folders whose files use one platform: one tester takes them all, and starts it once."""
LONGEST_FIRST = (
    "tests/e2e/",
    "tests/chaos/",
    "tests/integration/worker/",
    "tests/integration/",
    "tests/unit/searcher/",
    "tests/",
)
"""By where a test lies; a whole file of the last ones takes seconds."""


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]
    """Gives out whole files, in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # by the number of tests: those that take long are few
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in TOGETHER if file.startswith(folder)), file)


def how_long(nodeid: str) -> int:
    """A rank among the tests: higher lasts longer."""
    shorter = takewhile(lambda folder: not nodeid.startswith(folder), LONGEST_FIRST)
    return len(LONGEST_FIRST) - sum(1 for _ in shorter)
