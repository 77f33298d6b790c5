"""`muster.load`: download a model or checkpoint into a local cache and verify it."""

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.client import Client

CHECKED = "checked.json"
FILES = "files"


def load(reference: str, *, cache: Path | None = None, client: "Client | None" = None) -> Path:
    """Download a model or checkpoint and return the local directory of its files.

    Files are verified by size and SHA-256 when they are downloaded, and cached. The reference is resolved by the platform on
    each call, so a moved alias returns the new version. The directory is shared: copy files before you change them. Several
    processes may load the same reference concurrently.

    Args:
        reference: `digits@champion` (an alias), `digits@3` (a version) or `digits` (the latest version), each optionally with a
            workspace: `workspace/digits…`; `experiment:31` (its best checkpoint); `checkpoint:ID`.
        cache: Cache directory; by default `MUSTER_CACHE`, else `~/.cache/muster`.
        client: Client to use; by default a client of the platform that `muster.client.connect` finds.

    Raises:
        NotFound: The reference does not exist.
        Rejected: The reference is malformed, or the cache cannot be written.
        Broken: A downloaded file does not match its size or hash.
    """
    from muster.client import connect
    from muster.client.settings import cache_folder

    if client is None:
        with connect() as own:
            return load(reference, cache=cache, client=own)
    checkpoint = _checkpoint_of(client, reference)
    place = (cache or cache_folder()) / "checkpoints" / checkpoint
    with _alone(place):
        if not _is_whole(place):
            shutil.rmtree(place / FILES, ignore_errors=True)
            got = client.checkpoints.download(checkpoint, place / FILES)
            stamps = {file.path: _stamp(place / FILES / file.path) for file in got.files}
            (place / CHECKED).write_text(json.dumps(stamps))
    return place / FILES


def _checkpoint_of(client: "Client", reference: str) -> str:
    from muster.client.handwritten.models import split_version

    kind, colon, named = reference.partition(":")
    if reference and not colon:
        return str(client.models.version(*split_version(reference)).checkpoint)
    if kind == "experiment":
        return str(client.checkpoints.best_of(client.experiments.get(named)).id)
    if kind == "checkpoint":
        return str(client.checkpoints.get(named).id)
    raise Rejected(
        "bad_reference",
        f"{reference!r} is not a valid reference",
        hint="use a model such as digits@champion, experiment:31 or checkpoint:ID",
    )


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Lock the directory against other processes of this machine."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with (place / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise Rejected(
            "cannot_write",
            f"the cache cannot be written: {error.strerror or error}",
            place=str(place),
            hint="set MUSTER_CACHE to a writable folder",
        ) from error


def _is_whole(place: Path) -> bool:
    """Whether no file has changed since it was verified."""
    try:
        stamps: dict[str, list[int]] = json.loads((place / CHECKED).read_text())
        return all(_stamp(place / FILES / path) == stamp for path, stamp in stamps.items())
    except (OSError, ValueError):
        return False


def _stamp(file: Path) -> list[int]:
    found = file.stat()
    return [found.st_size, found.st_mtime_ns]
