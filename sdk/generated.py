"""Write generated files, or check that they are up to date."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main_of(target: Path, text: str) -> int:
    """Write `text` to `target`, or with `--check` only compare them. Return the exit status."""
    return _main({target: text}, frozenset())


def main_of_folder(folder: Path, files: Mapping[Path, str]) -> int:
    """Write all modules of a folder, and delete others; see `main_of`."""
    return _main(files, frozenset(folder.glob("*.py")) - files.keys())


def formatted(target: Path, text: str) -> str:
    """Return the text of a module without unused imports, formatted."""
    for command in (["check", "--select", "F401,I001", "--fix", "--quiet"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(target), "-"]
        text = subprocess.run(arguments, input=text, text=True, capture_output=True, check=True).stdout
    return text


def _main(files: Mapping[Path, str], left: frozenset[Path]) -> int:
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" not in sys.argv[1:]:
        for path in stale:
            path.write_text(files[path])
        for path in left:
            path.unlink()
        return 0
    for path in [*stale, *left]:
        print(f"{path.relative_to(ROOT)} is stale: run `make gen` and commit the result", file=sys.stderr)
    return 1 if stale or left else 0
