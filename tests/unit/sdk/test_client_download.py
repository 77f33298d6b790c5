"""Downloads: checked, resumed, whole or not at all."""

import hashlib
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from muster.client.files import download as module
from muster.client.files.download import fetch_into
from muster.client.files.globs import matches
from muster.client.models import Download, FileDownload
from muster.errors import Broken, Rejected

FILES = {"state.pt": b"weights" * 1000, "notes/read.me": b"hello", "empty": b""}
CHECKPOINT = UUID("018f0000-0000-7000-8000-000000000001")


class Store:
    """Serves FILES by ranges; `cut` files break off once, `expired` addresses are refused once."""

    def __init__(self) -> None:
        self.cut: set[str] = set()
        self.expired: set[str] = set()
        self.wrong: set[str] = set()
        self.ranges: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/")
        if path in self.expired and request.url.params["n"] == "1":
            return httpx.Response(403)
        start = int(request.headers.get("range", "bytes=0-")[6:-1])
        if start:
            self.ranges.append(path)
        content = FILES[path][start:]
        if path in self.wrong:
            content = b"x" * len(content)
        if path in self.cut:
            self.cut.discard(path)
            content = content[: len(content) // 2]
        return httpx.Response(206 if start else 200, stream=httpx.ByteStream(content))


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    served = Store()
    real = httpx.Client
    monkeypatch.setattr(
        httpx, "Client", lambda **options: real(transport=httpx.MockTransport(served), **options)
    )
    monkeypatch.setattr(module, "wait_s", lambda *_: 0.0)
    return served


class Listing:
    def __init__(self, **paths: bytes) -> None:
        self.asked = 0
        self.files = paths or FILES

    def __call__(self) -> Download:
        self.asked += 1
        files = [
            FileDownload(
                path=path,
                size_bytes=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                url=f"http://store/{path}?n={self.asked}",
            )
            for path, content in self.files.items()
        ]
        return Download(checkpoint=CHECKPOINT, step=3, files=files)


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_all_files_arrive_and_every_byte_is_told(store: Store, tmp_path: Path) -> None:
    moved: list[tuple[int, int]] = []
    fetch_into(tmp_path / "model", Listing(), lambda more, total: moved.append((more, total)))
    assert held(tmp_path / "model") == FILES
    total = sum(map(len, FILES.values()))
    assert sum(more for more, _ in moved) == total and moved[0][1] == total
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_file_that_breaks_off_is_resumed(store: Store, tmp_path: Path) -> None:
    store.cut = {"state.pt"}
    moved: list[int] = []
    fetch_into(tmp_path / "model", Listing(), lambda more, total: moved.append(more))
    assert held(tmp_path / "model") == FILES and store.ranges == ["state.pt"]
    assert sum(moved) == sum(map(len, FILES.values()))


def test_addresses_that_ran_out_are_asked_for_again(store: Store, tmp_path: Path) -> None:
    store.expired = {"state.pt"}
    listing = Listing()
    fetch_into(tmp_path / "model", listing)
    assert listing.asked == 2 and held(tmp_path / "model") == FILES


def test_a_wrong_hash_leaves_no_directory_and_the_next_try_mends_it(store: Store, tmp_path: Path) -> None:
    store.wrong = {"state.pt"}
    with pytest.raises(Broken, match="SHA-256"):
        fetch_into(tmp_path / "model", Listing())
    assert not (tmp_path / "model").exists()
    store.wrong = set()
    fetch_into(tmp_path / "model", Listing())
    assert held(tmp_path / "model") == FILES


def test_a_directory_in_use_is_left_alone(store: Store, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(Rejected, match="not an empty directory"):
        fetch_into(tmp_path, Listing())
    assert held(tmp_path) == {"mine": b"precious"}


@pytest.mark.parametrize("path", ["../evil", "/etc/evil", "a/../../evil", "a\\evil", ""])
def test_a_path_that_leaves_the_folder_is_never_written(store: Store, tmp_path: Path, path: str) -> None:
    with pytest.raises(Broken, match="leaves the target folder"):
        fetch_into(tmp_path / "model", Listing(**{path: b"evil"}))
    assert not (tmp_path / "model").exists() and not (tmp_path / "evil").exists()


def test_a_part_of_the_files_is_fetched_by_patterns(store: Store, tmp_path: Path) -> None:
    got = fetch_into(tmp_path / "some", Listing(), only=["notes", "*.pt"])
    assert held(tmp_path / "some") == {path: FILES[path] for path in ("state.pt", "notes/read.me")}
    assert sorted(file.path for file in got.files) == ["notes/read.me", "state.pt"]
    with pytest.raises(Rejected, match=r"no file of checkpoint .* matches 'nota'"):
        fetch_into(tmp_path / "none", Listing(), only=["notes/**", "nota"])
    assert not (tmp_path / "none").exists()


def test_what_broke_off_goes_on_with_the_same_part_only(store: Store, tmp_path: Path) -> None:
    store.wrong = {"state.pt"}
    with pytest.raises(Broken):
        fetch_into(tmp_path / "some", Listing(), only=["state.pt", "empty"])
    store.wrong = set()
    fetch_into(tmp_path / "some", Listing(), only=["notes/*"])
    assert set(held(tmp_path / "some")) == {"notes/read.me"}


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("a.pt", ["a.pt"]),
        ("*.pt", ["a.pt"]),
        ("**/*.pt", ["a.pt", "model/b.pt", "model/deep/c.pt"]),
        ("model", ["model/b.pt", "model/deep/c.pt"]),
        ("./model/", ["model/b.pt", "model/deep/c.pt"]),
        ("model/?.pt", ["model/b.pt"]),
        ("model/*", ["model/b.pt", "model/deep/c.pt"]),
        ("**", ["a.pt", "model/b.pt", "model/deep/c.pt", "x[1].txt"]),
        ("x[1].txt", ["x[1].txt"]),
        ("", []),
        ("../a.pt", []),
    ],
)
def test_patterns_mean_what_people_expect(pattern: str, meant: list[str]) -> None:
    paths = ["a.pt", "model/b.pt", "model/deep/c.pt", "x[1].txt"]
    assert [path for path in paths if matches(path, pattern)] == meant
