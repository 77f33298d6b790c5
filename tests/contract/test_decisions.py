"""Decision records: each has a title, a status and a line in the index, and references lead to records."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
NUMBERS = {path.name[:4] for path in RECORDS}
INDEX_LINE = re.compile(r"^\| \[(.+?)\]\((\d{4}-[a-z0-9-]+\.md)\) \| .+ \|$", re.MULTILINE)
LINK = re.compile(r"\]\((?:[\w./-]*/)?decisions/(\d{4}-[a-z0-9-]+\.md)")
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


def test_the_index_lists_each_record_once_by_its_title() -> None:
    listed = INDEX_LINE.findall((FOLDER / "README.md").read_text())
    titles = [(path.read_text().partition("\n")[0].removeprefix("# "), path.name) for path in RECORDS]
    assert sorted(listed) == sorted(titles)


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
    missing |= {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        if path.exists()
        for name in LINK.findall(path.read_text(errors="replace"))
        if not (FOLDER / name).exists()
    }
    assert not missing
