"""Decision records: each has a title with its number and a status, and whatever refers to one finds it."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
NUMBERS = {path.name[:4] for path in RECORDS}
STATUS = re.compile(r"Status: (accepted|superseded by (\d{4}))")
REFERENCE = re.compile(
    r"\b[Dd]ecisions? 0[0-4]\d{2}(?:(?:, | and | to )0[0-4]\d{2})*|\(0[0-4]\d{2}(?:(?:, | and )0[0-4]\d{2})*[),;:]"
)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_says_its_number_and_its_status(path: Path) -> None:
    title, _, status, *_ = path.read_text().splitlines()
    assert title.startswith(f"# {path.name[:4]}: ")
    found = STATUS.fullmatch(status)
    assert found, f"the third line is {status!r}"
    assert found[2] is None or found[2] in NUMBERS


def test_numbers_are_not_given_twice() -> None:
    assert len(NUMBERS) == len(RECORDS)


def test_references_lead_to_records() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [
        ROOT / name
        for name in listed.decode().split("\0")
        if name.endswith((".py", ".md", ".ts", ".tsx", ".toml"))
    ]
    missing = {
        f"{path.relative_to(ROOT)}: {number}"
        for path in files
        if path.exists()
        for found in REFERENCE.findall(path.read_text(errors="replace"))
        for number in re.findall(r"\d{4}", found)
        if number not in NUMBERS
    }
    assert not missing
