"""How tests are shared out among several testers: what lasts long begins first, so that none is left with it at the end."""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

ONE_TESTER_FOLDERS = ("tests/e2e/",)
"""Folders whose files use one platform: one tester takes them all, and starts it once."""
SECONDS = {
    "tests/e2e/": 600,
    "tests/chaos/": 150,
    "tests/integration/scheduler/test_leaders.py": 150,
    "tests/integration/gateway/test_fuzz_": 60,
    "tests/integration/gateway/test_isolation.py": 60,
    "tests/unit/searcher/test_every_method.py": 60,
    "tests/unit/searcher/test_objectives.py": 40,
    "tests/integration/worker/": 30,
    "tests/integration/": 15,
}
"""What a file takes, by its name or the folder it lies in, the closest first; any other takes a few seconds. `time_table` shows them after a run."""
CLOSEST_FIRST = sorted(SECONDS, key=len, reverse=True)


class LongestFirst(LoadFileScheduling):  # type: ignore[misc]
    """Gives out whole files, in the order of the collection."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        config.option.loadscopereorder = False  # by the number of tests: those that take long are few
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return next((folder for folder in ONE_TESTER_FOLDERS if file.startswith(folder)), file)


def expected_seconds(nodeid: str) -> int:
    """The seconds of the test's file, about."""
    return next((SECONDS[place] for place in CLOSEST_FIRST if nodeid.startswith(place)), 0)
