"""Control groups in the unified hierarchy, by files that stand for the kernel's; `test_ends` asks a real kernel."""

from pathlib import Path
from uuid import UUID

import pytest

from shared.ids import RunId, WorkerId
from worker.machine.cgroups import Bounds, Cgroups, claim_trees, open_cgroups

RUN = RunId(UUID(int=7))
BOUNDS = Bounds(memory_bytes=1000, processes=20)


def unified(tmp_path: Path, controllers: str = "cpu memory pids") -> tuple[Path, Path]:
    """A delegated group of the unified hierarchy, and what names it as this process's."""
    base = tmp_path / "service"
    base.mkdir()
    (tmp_path / "cgroup.controllers").write_text(controllers)
    (base / "cgroup.controllers").write_text(controllers)
    own = tmp_path / "own"
    own.write_text("0::/service\n")
    return base, own


def test_a_run_has_so_much_for_each_of_its_slots(tmp_path: Path) -> None:
    base, own = unified(tmp_path)
    cgroups = Cgroups(WorkerId("w"), BOUNDS, claim_trees(BOUNDS, tmp_path, own))
    assert (base / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (base / "muster-daemon" / "cgroup.procs").exists(), "a group with processes cannot be divided"
    cgroups.make(RUN, 3)
    group = base / f"muster-w-{RUN}"
    limits = [(group / name).read_text() for name in ("memory.max", "pids.max", "memory.swap.max")]
    assert limits == ["3000", "60", "0"]
    assert cgroups.procs_files(RUN) == [str(group / "cgroup.procs")]
    (group / "memory.events").write_text("low 0\noom 2\noom_kill 1\n")
    assert cgroups.kills(RUN) == 1


def test_a_daemon_that_was_started_again_divides_the_same_group(tmp_path: Path) -> None:
    base, own = unified(tmp_path)
    own.write_text("0::/service/muster-daemon\n")
    [tree] = claim_trees(BOUNDS, tmp_path, own)
    assert tree.base == base


def test_where_there_is_no_right_to_them_that_is_said_and_nothing_is_bounded(tmp_path: Path) -> None:
    _, own = unified(tmp_path, controllers="cpu")
    with pytest.raises(OSError, match="no controller memory and pids"):
        claim_trees(BOUNDS, tmp_path, own)
    unbounded = open_cgroups(WorkerId("w"), Bounds())
    unbounded.make(RUN, 1)
    assert unbounded.procs_files(RUN) == [] and unbounded.kills(RUN) is None


def test_groups_of_runs_that_are_gone_are_removed_and_no_other_workers(tmp_path: Path) -> None:
    base, own = unified(tmp_path)
    trees = claim_trees(BOUNDS, tmp_path, own)
    gone, foreign = base / f"muster-w-{RUN}", base / f"muster-w-2-{RUN}"
    gone.mkdir()
    foreign.mkdir()
    Cgroups(WorkerId("w"), BOUNDS, trees).sweep([])
    assert not gone.exists() and foreign.exists()
