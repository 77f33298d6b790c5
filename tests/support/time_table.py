"""What a whole run took, by folder and by file: so that who makes it shorter knows where to begin, and `file_scheduling` what to begin with."""

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

MAX_FILES = 25


def seconds_by_file(reports: Iterable[object]) -> Counter[str]:
    """Of setups, tests and teardowns, whichever tester ran them."""
    found: Counter[str] = Counter()
    for report in reports:
        if isinstance(report, pytest.TestReport):
            found[report.nodeid.split("::")[0]] += report.duration  # type: ignore[assignment]
    return found


def lines(seconds: Counter[str]) -> Iterator[str]:
    """A line for each folder, and for those files that took longest."""
    folders: Counter[str] = Counter()
    for file, took in seconds.items():
        folders["/".join(file.split("/")[1:-1]) or "tests"] += took
    for folder, took in folders.most_common():
        yield f"{took / 60:6.1f} min  {folder}"
    for file, took in seconds.most_common(MAX_FILES):
        yield f"{took:6.0f} s    {file}"
