"""What the worker opens of a trial: regular files beneath a folder, with openat2 and without."""

import hashlib
import os
import resource
from io import BufferedReader
from pathlib import Path

import pytest

from muster.errors import Rejected
from worker.sandbox import trial_files
from worker.sandbox.accounts import Account
from worker.sandbox.trial_files import (
    TrialFile,
    create_trial_file,
    hash_trial_file,
    link_trial_file,
    list_folder,
    opened,
    remove_tree,
    remove_trial_file,
    walk,
    write_private_file,
)


@pytest.fixture(params=["openat2", "by parts"])
def base(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a run beside a secret, on a new kernel and on an old one."""
    if request.param == "by parts":
        monkeypatch.setattr(trial_files, "_has_openat2", lambda: False)
    base = tmp_path / "run"
    (base / "own/inner").mkdir(parents=True)
    (base / "own/inner/file").write_text("mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("secret")
    return base


def test_an_own_file_is_read_at_any_depth(base: Path) -> None:
    with TrialFile(base, "own/inner/file").open() as file:
        assert file.read() == b"mine"
    assert [found.path for found in walk(base, "own", is_strict=True)] == ["inner", "inner/file"]
    assert [found.path for found in list_folder(base)] == ["own"]


@pytest.mark.parametrize(
    "path", ["../outside/file", "own/../../outside/file", "{outside}/file", "own", "pipe", "gone"]
)
def test_nothing_outside_and_nothing_but_files_is_opened(base: Path, path: str) -> None:
    os.mkfifo(base / "pipe")
    path = path.format(outside=base.parent / "outside")
    with pytest.raises(OSError), TrialFile(base, path).open():
        pass
    with opened(base, path) as file:
        assert file is None


@pytest.mark.parametrize("link", ["own/inner/link", "own/linked"])
@pytest.mark.parametrize("target", ["file", "folder", "own", "descriptor"])
def test_no_link_is_followed_in_any_part_of_a_path(base: Path, link: str, target: str) -> None:
    with (base.parent / "outside/file").open() as held:
        targets: dict[str, Path | str] = {
            "file": base.parent / "outside/file",
            "folder": base.parent / "outside",
            "own": base / "own/inner",
            "descriptor": f"/proc/self/fd/{held.fileno()}",
        }
        os.symlink(targets[target], base / link)
        path = f"{link}/file" if target in ("folder", "own") else link
        with pytest.raises(OSError), TrialFile(base, path).open():
            pass
    found = {one.path: one for one in walk(base, "own", is_strict=True)}
    linked = found[link.removeprefix("own/")]
    assert not (linked.is_file or linked.is_folder)
    assert len(found) == 3, "nothing behind the link is listed"


def test_a_linked_base_is_refused(base: Path) -> None:
    (base / "linked").symlink_to(base.parent / "outside")
    assert list_folder(base / "linked") == []
    with pytest.raises(OSError):
        list(walk(base, "linked", is_strict=True))
    with pytest.raises(OSError), TrialFile(base / "linked", "file").open():
        pass


@pytest.mark.parametrize("change", ["grow", "exchange"])
def test_a_file_that_changes_while_it_is_hashed_is_refused(
    base: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, digest = base / "own/inner/file", hashlib.file_digest

    def meanwhile(source: BufferedReader, name: str) -> object:
        made = digest(source, name)
        if change == "grow":
            with path.open("a") as file:
                file.write("more")
        else:
            path.rename(path.with_name("before"))
            path.write_text("mine")
        return made

    assert hash_trial_file(TrialFile(base, "own/inner/file"))[1] == 4
    monkeypatch.setattr(hashlib, "file_digest", meanwhile)
    with pytest.raises(Rejected, match="changed while it was read"):
        hash_trial_file(TrialFile(base, "own/inner/file"))


def test_the_linked_file_is_the_opened_one(base: Path) -> None:
    link_trial_file(TrialFile(base, "own/inner/file"), base.parent / "kept")
    assert (base.parent / "kept").samefile(base / "own/inner/file")
    (base / "own/link").symlink_to(base.parent / "outside/file")
    with pytest.raises(OSError):
        link_trial_file(TrialFile(base, "own/link"), base.parent / "stolen")
    assert not (base.parent / "stolen").exists()


@pytest.mark.parametrize("attack", ["link", "second name", "pipe", "folder"])
def test_a_created_file_is_no_other_file(base: Path, attack: str) -> None:
    out, outside = base / "own" / "0.stdout", base.parent / "outside" / "file"
    before = outside.stat()
    match attack:
        case "link":
            out.symlink_to(outside)
        case "second name":
            out.hardlink_to(outside)
        case "pipe":
            os.mkfifo(out)
        case "folder":
            out.mkdir()
    with pytest.raises(OSError):
        create_trial_file(TrialFile(base / "own", "0.stdout"), Account(65534, 65534))
    after = outside.stat()
    assert (after.st_uid, after.st_mtime_ns) == (before.st_uid, before.st_mtime_ns)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_created_file_belongs_to_the_trial_and_keeps_its_content(base: Path) -> None:
    file = TrialFile(base / "own", "0.stdout")
    create_trial_file(file, None)
    (base / "own/0.stdout").write_text("output")
    create_trial_file(file, Account(65534, 65534))
    assert ((base / "own/0.stdout").stat().st_uid, (base / "own/0.stdout").read_text()) == (65534, "output")


def test_deep_folders_are_listed_without_using_up_descriptors(base: Path) -> None:
    depth, limits = 300, resource.getrlimit(resource.RLIMIT_NOFILE)
    base.joinpath("own", *["d"] * depth).mkdir(parents=True)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, limits[1]))
    try:
        assert len(list(walk(base, "own", is_strict=True))) == depth + 2
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_private_file_is_read_by_its_owner_only_and_replaces_what_was_there(base: Path) -> None:
    account = Account(os.geteuid(), os.getegid())
    for content in (b"first, longer", b"second"):
        write_private_file(TrialFile(base, "home/.ssh/id"), content, account)
    path = base / "home/.ssh/id"
    assert path.read_bytes() == b"second" and path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    remove_trial_file(TrialFile(base, "home/.ssh/id"))
    remove_trial_file(TrialFile(base, "home/.ssh/id"))
    assert not path.exists()


def test_a_private_file_is_never_written_through_a_link(base: Path) -> None:
    outside = base.parent / "outside"
    (base / "folder").symlink_to(outside)
    (base / "link").symlink_to(outside / "file")
    os.link(outside / "file", base / "second_name")
    with pytest.raises(OSError):
        write_private_file(TrialFile(base, "folder/file"), b"overwritten", None)
    remove_trial_file(TrialFile(base, "folder/file"))
    for name in ("link", "second_name"):
        write_private_file(TrialFile(base, name), b"new", None)
        assert (base / name).read_bytes() == b"new"


def test_a_tree_of_any_depth_is_removed(base: Path) -> None:
    """Deeper than Python recurses, with paths longer than the kernel accepts, and with few descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    inner = os.open(base / "own", os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("folder", dir_fd=inner)
        os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        outer, inner = inner, os.open("folder", os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    resource.setrlimit(resource.RLIMIT_NOFILE, (inner + 20, hard))
    try:
        remove_tree(base / "own")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(inner)
    assert list(base.iterdir()) == []


def test_what_links_of_a_tree_lead_to_stays(base: Path) -> None:
    outside = base.parent / "outside"
    (base / "own/link").symlink_to(outside)
    (base / "own/inner/link").symlink_to(outside / "file")
    os.mkfifo(base / "own/inner/pipe")
    os.link(outside / "file", base / "own/inner/second name")
    remove_tree(base / "own")
    assert not (base / "own").exists()
    assert (outside / "file").read_text() == "secret"


def test_a_link_or_a_missing_folder_is_not_removed_as_a_tree(base: Path) -> None:
    (base / "link").symlink_to(base.parent / "outside")
    remove_tree(base / "link")
    remove_tree(base / "missing")
    remove_tree(base / "missing/too")
    assert (base.parent / "outside/file").exists()


def test_a_folder_that_is_exchanged_while_it_is_removed_is_not_entered(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, unlink = base.parent / "outside", os.unlink

    def exchange(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd)
        if name == "trigger":
            (base / "own/inner").rename(base.parent / "moved")
            (base / "own/inner").symlink_to(outside)

    (base / "own/trigger").touch()
    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", exchange)
        remove_tree(base / "own")
    assert (outside / "file").read_text() == "secret"
