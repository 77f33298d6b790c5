"""What a generator wrote: put in its place, or held against what is there."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main_of(target: Path, text: str) -> int:
    """Write `text`, or with `--check` among the arguments only say whether it is what `target` holds. Returns the exit status."""
    if "--check" not in sys.argv[1:]:
        target.write_text(text)
        return 0
    if target.exists() and target.read_text() == text:
        return 0
    print(f"{target.relative_to(ROOT)} is stale: run `make gen` and commit the result", file=sys.stderr)
    return 1
