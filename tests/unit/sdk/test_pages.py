"""A memory in large pages holds what it held."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from pathlib import Path
from muster.runtime.huge_pages import use_large_pages

records = [str(number) * 10 for number in range(400_000)]
use_large_pages(least_bytes=0)
assert records == [str(number) * 10 for number in range(400_000)]
for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
    if line.startswith("AnonHugePages"):
        print(line.split()[1])
"""


def test_what_a_process_holds_is_moved_whole() -> None:
    enabled = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not enabled.exists() or "[never]" in enabled.read_text():
        pytest.skip("this system has no large pages for programs that ask")
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 8 * 1024, "of some 40 MiB at least a fifth lies in large pages"


def test_a_small_process_keeps_its_small_pages() -> None:
    small = SCRIPT.replace("least_bytes=0", "")
    done = subprocess.run([sys.executable, "-c", small], capture_output=True, text=True, check=True)
    assert int(done.stdout or 0) < 8 * 1024
