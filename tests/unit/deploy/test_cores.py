"""The gateway's cores are not those of the services behind it, and who is started with cores keeps to them, with what it starts."""

import os
import sys
from pathlib import Path

import pytest

from deploy.embedded.cores import Cores, halves
from deploy.embedded.processes import Command, run_to_end

_OWN = """
import os, subprocess, sys
print(sorted(os.sched_getaffinity(0)), flush=True)
if sys.argv[1:]:
    subprocess.run([sys.executable, "-c", sys.argv[1]], check=True)
"""


@pytest.mark.parametrize(
    ("cores", "behind", "gateway"),
    [
        ({5}, {5}, {5}),
        ({0, 1}, {0}, {1}),
        ({1, 4, 6}, {1, 4}, {6}),
        (set(range(8)), {0, 1, 2, 3}, {4, 5, 6, 7}),
    ],
)
def test_both_halves_have_a_core_and_share_none_but_the_only_one(
    cores: Cores, behind: Cores, gateway: Cores
) -> None:
    assert halves(frozenset(cores)) == (behind, gateway)


def test_a_process_keeps_to_its_cores_with_what_it_starts(tmp_path: Path) -> None:
    ours = sorted(os.sched_getaffinity(0))
    assert _cores_of(tmp_path / "free.log", None) == [str(ours)] * 2
    assert _cores_of(tmp_path / "kept.log", frozenset(ours[-1:])) == [str(ours[-1:])] * 2


def test_cores_that_are_gone_end_no_start(tmp_path: Path) -> None:
    beyond = max(os.sched_getaffinity(0)) + 4096
    assert _cores_of(tmp_path / "gone.log", frozenset({beyond})) == [str(sorted(os.sched_getaffinity(0)))] * 2


def _cores_of(log: Path, cores: Cores | None) -> list[str]:
    """What a process that is started so, and one that it starts, say of their cores."""
    command = Command((sys.executable, "-c", _OWN, _OWN), {}, log, log.parent, cores=cores)
    assert run_to_end(command, 30.0) == 0, log.read_text()
    return log.read_text().splitlines()
