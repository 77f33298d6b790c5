"""Archives: equal folders give equal bytes, and nothing but plain files ever reaches a disk."""

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.archive import ArchivedFile, ArchiveLimits, extract, inspect, list_files, pack, read_file
from muster.errors import NotFound, Rejected


def _folder(root: Path) -> Path:
    folder = root / "code"
    (folder / "pkg" / "deep").mkdir(parents=True)
    (folder / "train.py").write_text("print(1)\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "pkg" / "deep" / "ä.txt").write_text("x" * 1000)
    (folder / "empty").mkdir()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "train.pyc").write_bytes(b"x")
    return folder


def test_equal_folders_give_equal_bytes(tmp_path: Path) -> None:
    first = _folder(tmp_path / "a")
    second = _folder(tmp_path / "b")
    os.utime(second / "train.py", (1, 1))
    assert pack(first).sha256 == pack(second).sha256
    (second / "train.py").write_text("print(2)\n")
    assert pack(first).sha256 != pack(second).sha256


def test_what_is_packed_comes_back(tmp_path: Path) -> None:
    archive = pack(_folder(tmp_path))
    target = tmp_path / "out"
    target.mkdir()
    contents = extract(io.BytesIO(archive.content), target)
    assert contents.files == archive.files == ("pkg/__init__.py", "pkg/deep/ä.txt", "run.sh", "train.py")
    assert (target / "train.py").read_text() == "print(1)\n"
    assert (target / "empty").is_dir()
    assert os.access(target / "run.sh", os.X_OK)
    assert not os.access(target / "train.py", os.X_OK) or os.stat(target / "train.py").st_mode & 0o111 == 0
    assert inspect(io.BytesIO(archive.content)) == contents
    assert contents.unpacked_bytes == archive.unpacked_bytes


def test_what_stands_in_it_is_told_without_a_disk(tmp_path: Path) -> None:
    content = pack(_folder(tmp_path)).content
    files = list_files(io.BytesIO(content))
    assert [file.path for file in files] == ["pkg/__init__.py", "pkg/deep/ä.txt", "run.sh", "train.py"]
    script = ArchivedFile("train.py", 9, hashlib.sha256(b"print(1)\n").hexdigest())
    assert files[-1] == script
    assert read_file(io.BytesIO(content), "train.py", 100) == (script, b"print(1)\n")
    assert read_file(io.BytesIO(content), "train.py", 5) == (script, b"print"), "the hash is of all of it"
    for missing in ("pkg", "../train.py", "/etc/passwd", ""):
        with pytest.raises(NotFound):
            read_file(io.BytesIO(content), missing, 100)


def test_ignore_file(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / ".musterignore").write_text("# data\n*.txt\npkg/__init__.py\nempty/\n!run.sh\n")
    assert pack(folder).files == (".musterignore", "run.sh", "train.py")


def _holding(root: Path, *names: str) -> Path:
    folder = root / "code"
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    return folder


SECRETS = (
    ".env", "conf/.env.local", "tls/server.pem", "deep/id_rsa", ".aws/credentials", ".netrc", "credentials-prod.json",
    ".git/config", ".muster/client.json", ".config/google-chrome/Default/Cookies", "keys/site.key",
)  # fmt: skip


def test_likely_secrets_stay_out_and_are_named(tmp_path: Path) -> None:
    folder = _holding(tmp_path, "train.py", ".env.example", "environment.py", *SECRETS)
    archive = pack(folder)
    assert archive.files == (".env.example", "environment.py", "train.py")
    assert archive.secrets == (
        ".aws/", ".config/google-chrome/", ".env", ".git/", ".muster/", ".netrc", "conf/.env.local",
        "credentials-prod.json", "deep/id_rsa", "keys/site.key", "tls/server.pem",
    )  # fmt: skip
    (folder / ".musterignore").write_text("!.env\n!*.pem\n")
    assert {".env", "tls/server.pem"} <= set(pack(folder).files)
    assert "conf/.env.local" in pack(folder).secrets
    (folder / ".musterignore").write_text("!tls\n!deep/\n!conf/**/\n")
    assert {"conf/.env.local", "deep/id_rsa", "tls/server.pem"} <= set(pack(folder).secrets)


def test_a_browsers_profile_and_a_platforms_folder_stay_out_whatever_their_names(tmp_path: Path) -> None:
    profile = (
        "shots/session/Local State",
        "shots/session/Default/History",
        "fox/cookies.sqlite",
        "fox/a.txt",
    )
    home = ("platform/client.json", "platform/secrets/admin-token", "platform/x")
    folder = _holding(tmp_path, "train.py", "client.json", "shots/one.png", *profile, *home)
    archive = pack(folder)
    assert archive.files == ("client.json", "shots/one.png", "train.py")
    assert archive.secrets == ("fox/", "platform/", "shots/session/")
    (folder / ".musterignore").write_text("!fox/\n")
    assert "fox/a.txt" in pack(folder).files


def test_gitignore_takes_in_nothing_that_is_usually_left_out(tmp_path: Path) -> None:
    left = (".git/a.json", ".venv/pyvenv.py", "a/__pycache__/x.json", "fox/cookies.sqlite", "kaggle.json")
    folder = _holding(tmp_path, "train.py", "a/b.py", "a/b.json", "a/b.csv", ".env.example", *left)
    (folder / ".gitignore").write_text("*\n!*/\n!*.py\n!*.json\n!*.sqlite\n")
    archive = pack(folder)
    assert archive.files == ("a/b.json", "a/b.py", "train.py")
    assert archive.secrets == (".git/", "fox/", "kaggle.json")
    (folder / ".gitignore").rename(folder / ".detignore")
    assert {".git/a.json", ".venv/pyvenv.py", "kaggle.json"} <= set(pack(folder).files)


def test_gitignore_holds_where_there_is_no_other(tmp_path: Path) -> None:
    names = (
        "a.csv",
        "data/b.csv",
        "data/raw/c.csv",
        "out/x",
        "sub/out/x",
        "sub/deep/keep.log",
        "sub/y.log",
        "t.py",
    )
    folder = _holding(tmp_path, *names)
    (folder / ".gitignore").write_text("# results\n/out\ndata/*.csv\n\n*.log\n!keep.log\n")
    (folder / "sub" / ".gitignore").write_text("/deep\n")
    archive = pack(folder)
    assert archive.files == (".gitignore", "a.csv", "data/raw/c.csv", "sub/.gitignore", "sub/out/x", "t.py")
    assert (archive.ignored, archive.ignore_file) == (
        ("data/b.csv", "out/", "sub/deep/", "sub/y.log"),
        ".gitignore",
    )
    (folder / "sub" / ".gitignore").unlink()
    assert "sub/deep/keep.log" in pack(folder).files
    (folder / ".musterignore").write_text("sub\n")
    assert pack(folder).files == (
        ".gitignore",
        ".musterignore",
        "a.csv",
        "data/b.csv",
        "data/raw/c.csv",
        "out/x",
        "t.py",
    )
    assert pack(folder).ignore_file == ".musterignore"


@pytest.mark.parametrize(
    ("pattern", "out"),
    [
        ("**/b", ["a/b", "a/c/b", "b"]),
        ("a/**", ["a/b", "a/c/b"]),
        ("a/**/b", ["a/b", "a/c/b"]),
        ("a/**/", ["a/c/b"]),
        ("a/**\n!a/b", ["a/c/b"]),
        ("b\n!a/c", ["a/b", "a/c/b", "b"]),
        ("*\n!*/\n!b", ["#d"]),
        ("/b", ["b"]),
        ("[!a]", ["a/b", "a/c/b", "b"]),
        ("?/b", ["a/b"]),
        ("[[:lower:]]/b", ["a/b"]),
        ("[[:digit:]]/b", []),
        ("a/*/b", ["a/c/b"]),
        ("b/", []),
        ("[z-a]", []),
        ("[", []),
        ("\\#d", ["#d"]),
        ("\\b", ["a/b", "a/c/b", "b"]),
        (" b", []),
        ("b ", ["a/b", "a/c/b", "b"]),
    ],
)
def test_patterns_are_those_of_gitignore(tmp_path: Path, pattern: str, out: list[str]) -> None:
    names = ["#d", "a/b", "a/c/b", "b"]
    folder = _holding(tmp_path, *names)
    (folder / ".musterignore").write_text(pattern)
    assert [name for name in names if name not in pack(folder).files] == out


def test_what_is_largest_is_told(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    assert pack(folder).largest == ("pkg/deep/ä.txt", 1000)
    (tmp_path / "empty").mkdir()
    assert pack(tmp_path / "empty").largest is None


def test_a_link_in_the_folder_is_refused_by_name(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / "data").symlink_to("/etc")
    with pytest.raises(Rejected) as refused:
        pack(folder)
    assert refused.value.place == "data"


def _tar(*members: tuple[str, dict[str, object]], content: bytes = b"x") -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, fields in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for field, value in fields.items():
                setattr(member, field, value)
            tar.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return raw.getvalue()


def _special(kind: bytes, payload: bytes, times: int = 1) -> bytes:
    """Headers of a kind that tarfile reads by itself, before one plain file."""
    header = tarfile.TarInfo("././@Special")
    header.type, header.size = kind, len(payload)
    block = header.tobuf(tarfile.USTAR_FORMAT) + payload + b"\0" * (-len(payload) % 512)
    plain = gzip.decompress(_tar(("a", {})))
    return gzip.compress(block * times + plain)


def _attribute(key: str, value: str) -> bytes:
    """One record of a pax header."""
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def _holes() -> bytes:
    """The header of a file with holes, whose list goes on in further blocks."""
    header = bytearray(tarfile.TarInfo("a").tobuf(tarfile.GNU_FORMAT))
    header[156:157], header[482] = tarfile.GNUTYPE_SPARSE, 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    more = bytearray(b"00000000001\0" * 42 + b"\x01" + b"\0" * 7)
    return gzip.compress(bytes(header) + bytes(more) * 80)


EVIL: dict[str, tuple[Callable[[], bytes], str]] = {
    "dotdot": (lambda: _tar(("../evil", {})), "archive_path"),
    "dotdot inside": (lambda: _tar(("a/../../evil", {})), "archive_path"),
    "absolute": (lambda: _tar(("/etc/evil", {})), "archive_path"),
    "backslash": (lambda: _tar(("a\\..\\evil", {})), "archive_path"),
    "symlink": (
        lambda: _tar(("a", {"type": tarfile.SYMTYPE, "linkname": "/etc", "size": 0})),
        "archive_entry",
    ),
    "hard link": (
        lambda: _tar(("a", {"type": tarfile.LNKTYPE, "linkname": "b", "size": 0})),
        "archive_entry",
    ),
    "device": (lambda: _tar(("a", {"type": tarfile.CHRTYPE, "size": 0})), "archive_entry"),
    "fifo": (lambda: _tar(("a", {"type": tarfile.FIFOTYPE, "size": 0})), "archive_entry"),
    "twice": (lambda: _tar(("a", {}), ("a", {})), "archive_entry"),
    "file below a file": (lambda: _tar(("a", {}), ("a/b", {})), "archive_entry"),
    "file over a folder": (lambda: _tar(("a/b", {}), ("a", {})), "archive_entry"),
    "deep": (lambda: _tar(("/".join("d" * 40), {})), "archive_depth"),
    "many": (lambda: _tar(*((f"f{i}", {}) for i in range(30))), "archive_count"),
    "large": (lambda: _tar(("a", {}), content=os.urandom(70_000)), "code_too_large"),
    "bomb": (lambda: _tar(("a", {}), content=b"\0" * 60_000), "archive_ratio"),
    "folders that only paths name": (
        lambda: _tar(*((f"{i}/b/c/d", {}) for i in range(15))),
        "archive_count",
    ),
    "endless name": (
        lambda: _special(tarfile.GNUTYPE_LONGNAME, os.urandom(35_000).hex().encode()),
        "archive_entry",
    ),
    "endless attributes": (
        lambda: _special(tarfile.XHDTYPE, _attribute("comment", os.urandom(35_000).hex())),
        "archive_entry",
    ),
    "headers without end": (
        lambda: _special(tarfile.XHDTYPE, _attribute("a", "b"), times=20),
        "archive_entry",
    ),
    "holes": (_holes, "archive_entry"),
    "holes by attribute": (
        lambda: _special(
            tarfile.XHDTYPE, _attribute("GNU.sparse.major", "1") + _attribute("GNU.sparse.minor", "0")
        ),
        "archive_entry",
    ),
    "no tar": (lambda: gzip.compress(b"hello"), "archive_broken"),
    "no gzip": (lambda: b"hello world", "archive_broken"),
    "nothing": (lambda: b"", "archive_broken"),
    "cut off": (lambda: _tar(("a", {}), content=os.urandom(5000))[:3000], "archive_broken"),
}
SMALL = ArchiveLimits(
    packed_bytes=100_000, unpacked_bytes=64_000, entries=20, depth=8, ratio=50, ratio_free_bytes=45_000
)


@pytest.mark.parametrize("name", EVIL)
def test_evil_archives_are_refused(name: str, tmp_path: Path) -> None:
    make, code = EVIL[name]
    packed = make()
    with pytest.raises(Rejected) as refused:
        inspect(io.BytesIO(packed), SMALL)
    assert refused.value.code == code
    target = tmp_path / "out"
    target.mkdir()
    with pytest.raises(Rejected):
        extract(io.BytesIO(packed), target, SMALL)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def test_a_packed_stream_over_the_limit_is_refused() -> None:
    with pytest.raises(Rejected) as refused:
        inspect(io.BytesIO(_tar(("a", {}), content=os.urandom(120_000))), SMALL)
    assert refused.value.code == "code_too_large"


def test_extraction_wants_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")
    with pytest.raises(Rejected) as refused:
        extract(io.BytesIO(pack(_folder(tmp_path)).content), tmp_path)
    assert refused.value.code == "code_not_empty"
