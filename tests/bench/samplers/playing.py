"""Plays comparisons side by side. What the dear ones came to stands beside this module, and is not played again so long as it depends on the same."""

import ast
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import psutil

from tests.bench.kept import play_parts, read_kept
from tests.bench.quality.plays import ROOT
from tests.bench.samplers.comparing import Job, compare

HERE = Path(__file__).parent
PLAYED = HERE / "played.jsonl"
OURS = ROOT / "services" / "searcher" / "core" / "samplers"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether the points were Optuna's, one by one (None: not played); and the regrets of both with many at once, by number of evaluations."""

    job: Job
    is_identical: bool | None
    ours: tuple[float, ...]
    by_hand: tuple[float, ...]


def play_jobs(jobs: Sequence[Job], kept: Path | None, piece_s: float | None) -> list[Outcome]:
    """Return the outcomes in the order of the jobs."""
    with ProcessPoolExecutor(psutil.cpu_count()) as pool:
        found = play_parts(pool, compare, jobs, kept, piece_s, basis())
    return [
        Outcome(job, each["is_identical"], tuple(each["ours"]), tuple(each["by_hand"]))
        for job, each in zip(jobs, found, strict=True)
    ]


def were_played(jobs: Sequence[Job], kept: Path) -> list[Job]:
    """Return those of the jobs whose outcomes are kept."""
    known = read_kept(kept, basis())
    return [job for job in jobs if str(job) in known]


def basis() -> str:
    """Return what the outcomes depend on: Optuna's version, and a hash of the code that is asked and of the one that asks."""
    code = sha256()
    for path in [
        *sorted(OURS.glob("*.py")),
        *(HERE / f"{name}.py" for name in ("asked", "comparing", "tables")),
    ]:
        code.update(what_it_does(path.read_text()).encode())
    return f"optuna {version('optuna')}, code {code.hexdigest()[:12]}"


def what_it_does(source: str) -> str:
    """Return a module without comments, docstrings and imports, laid out anew: where a module stands changes no proposal."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            left = [each for each in body if not isinstance(each, ast.Import | ast.ImportFrom)]
            node.body = [each for each in left if not _is_text(each)]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
