"""`.ci/wording` holds the number of private words and unclear sentences: it may fall and never rise."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAIN = '"""Assign slots to trials."""\n\n\ndef grant(request: str) -> str:\n    return request\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / ".ci/wording-baseline.json").unlink()
    (tmp_path / "module.py").write_text(PLAIN)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    assert check(tmp_path).returncode == 0
    return tmp_path


def check(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ".ci/wording", *arguments], cwd=tree, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (PLAIN.replace("grant", "on_wish"), "identifiers: wish: 1, 0 allowed"),
        (PLAIN.replace("(request:", "(told:"), "identifiers: told: 1, 0 allowed"),
        (
            PLAIN.replace("Assign slots to trials.", "Who ignores the signal is ended after a while."),
            "prose: module.py: 1, 0 allowed",
        ),
        (PLAIN + "\n\nclass Part: ...\n" * 3, "classes: Part: 3, 0 allowed"),
    ],
)
def test_a_new_private_word_or_riddle_fails(tree: Path, text: str, finding: str) -> None:
    (tree / "module.py").write_text(text)
    done = check(tree)
    assert done.returncode == 1
    assert finding in done.stderr


def test_a_word_in_its_plain_meaning_is_marked(tree: Path) -> None:
    (tree / "module.py").write_text(
        PLAIN.replace("def grant(request: str)", "def grant(words: str)").replace(
            "-> str:", "-> str:  # glossary: allowed"
        )
    )
    assert check(tree).returncode == 0


def test_the_baseline_falls_and_never_rises(tree: Path) -> None:
    (tree / "module.py").write_text(PLAIN.replace("grant", "on_wish"))
    assert check(tree, "--lower").returncode == 1
    assert check(tree).returncode == 1


def test_the_project_has_no_more_than_its_baseline() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr
