"""`muster.load`: whatever names a model, its files come once and are what was checked."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import muster
from muster.client.client import Client
from muster.errors import Rejected

FILES = {"model.pt": b"weights", "notes/read.me": b"hello"}


class Platform:
    """Stands in for a client: knows which checkpoint is meant, and gives its files."""

    def __init__(self) -> None:
        self.named = {"digits@champion": "c-1", "digits@latest": "c-2", "vision/digits@3": "c-3"}
        self.fetched: list[str] = []
        self.models = SimpleNamespace(
            version=lambda model, version: SimpleNamespace(checkpoint=self.named[f"{model}@{version}"])
        )
        self.experiments = SimpleNamespace(get=lambda number: f"experiment {number}")
        self.checkpoints = SimpleNamespace(
            best_of=lambda experiment: SimpleNamespace(id=f"best of {experiment}"),
            get=lambda checkpoint: SimpleNamespace(id=checkpoint),
            download=self.download,
        )

    def download(self, checkpoint: str, directory: Path) -> Any:
        self.fetched.append(checkpoint)
        for path, content in FILES.items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(content)
        return SimpleNamespace(files=[SimpleNamespace(path=path) for path in FILES])

    def load(self, reference: str, cache: Path) -> Path:
        return muster.load(reference, cache=cache, client=cast(Client, self))


@pytest.mark.parametrize(
    ("reference", "checkpoint"),
    [
        ("digits@champion", "c-1"),
        ("digits", "c-2"),
        ("vision/digits@3", "c-3"),
        ("experiment:31", "best of experiment 31"),
        ("checkpoint:c-9", "c-9"),
    ],
)
def test_each_way_to_name_a_model(reference: str, checkpoint: str, tmp_path: Path) -> None:
    platform = Platform()
    folder = platform.load(reference, tmp_path)
    assert platform.fetched == [checkpoint]
    assert {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*.*")} == FILES


def test_files_that_are_here_are_not_fetched_again(tmp_path: Path) -> None:
    platform = Platform()
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: platform.load("digits@champion", tmp_path), range(4)))
    assert platform.fetched == ["c-1"] and len(folders) == 1
    platform.named["digits@champion"] = "c-2"
    assert platform.load("digits@champion", tmp_path) != folders.pop()
    assert platform.load("digits", tmp_path).is_dir() and platform.fetched == ["c-1", "c-2"]


@pytest.mark.parametrize("harm", ["changed", "gone", "half-written"])
def test_what_is_not_as_it_was_checked_is_fetched_anew(harm: str, tmp_path: Path) -> None:
    platform = Platform()
    folder = platform.load("digits", tmp_path)
    if harm == "changed":
        (folder / "model.pt").write_bytes(b"others!")
        # Most kernels' file times are too coarse to tell the two writes.
        os.utime(folder / "model.pt", ns=(0, 0))
    elif harm == "gone":
        (folder / "notes/read.me").unlink()
    else:
        (folder.parent / "checked.json").write_text("{")
    again = platform.load("digits", tmp_path)
    assert platform.fetched == ["c-2", "c-2"] and (again / "model.pt").read_bytes() == b"weights"


@pytest.mark.parametrize("reference", ["", "digits@", "@champion", "run:7", "s3://bucket"])
def test_what_names_nothing_is_refused_with_how_it_is_written(reference: str, tmp_path: Path) -> None:
    with pytest.raises(Rejected, match=r"is not a (valid reference|model version)") as refused:
        Platform().load(reference, tmp_path)
    assert "digits@champion" in (refused.value.hint or "")


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Rejected, match="cache cannot be written"):
        Platform().load("digits", tmp_path / "file")
