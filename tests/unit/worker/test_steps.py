"""The steps by which an environment is made: each bound is met, and said."""

import os
import sys
import time
from pathlib import Path

import pytest

from worker.environments import install_command
from worker.environments.install_command import Step, StepResult, run_step


def run(folder: Path, script: str, noted: list[str] | None = None) -> StepResult:
    step = Step([sys.executable, "-I", "-c", script], folder, {"PATH": os.defpath}, None)
    return run_step(step, (noted if noted is not None else []).append)


def test_a_step_ends_with_its_code_and_its_words(tmp_path: Path) -> None:
    noted: list[str] = []
    ended = run(
        tmp_path, "import sys; print('one'); print('ERROR: two', file=sys.stderr); sys.exit(3)", noted
    )
    assert (ended.code, ended.over) == (3, "")
    assert set(ended.output.splitlines()) == {"one", "ERROR: two"}
    assert noted[-1] in ("one", "ERROR: two")


def test_a_step_that_prints_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_command, "MAX_OUTPUT_BYTES", 3 * 1024 * 1024)
    ended = run(tmp_path, "while True: print('again and again')")
    assert ended.over == "it printed more than 3 MiB; it last printed: again and again"
    assert len(ended.output) <= 2 * 1024 * 1024


def test_a_step_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_command, "STEP_S", 1.5)
    script = (
        "import subprocess as s; print(s.Popen(['sleep', '600']).pid, flush=True); s.run(['sleep', '600'])"
    )
    ended = run(tmp_path, script)
    assert ended.over.startswith("it was not done after 0 minutes; it last printed: ")
    child = Path("/proc", ended.output.strip())
    deadline = time.monotonic() + 5
    while child.exists() and "Z" not in (child / "stat").read_text().split() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not child.exists() or "Z" in (child / "stat").read_text().split()


def test_a_step_that_holds_too_much_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install_command, "MAX_MEMORY_BYTES", 64 * 1024 * 1024)
    ended = run(tmp_path, "import time; held = b'x' * (100 << 20); time.sleep(600)")
    assert ended.over.startswith("it used more than 64 MiB of memory")


def test_who_inherits_the_output_of_a_step_that_is_done_holds_nothing_up(tmp_path: Path) -> None:
    began = time.monotonic()
    script = "import subprocess as s; s.Popen(['sleep', '20'], start_new_session=True); print('done')"
    ended = run(tmp_path, script)
    assert (ended.code, ended.output) == (0, "done\n")
    assert time.monotonic() - began < 15
