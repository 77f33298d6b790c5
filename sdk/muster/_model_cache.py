"""`muster.load`: a model or checkpoint as a directory on this machine, fetched once and checked."""

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
    """Return a directory with the files that `reference` names, as they were checked by size and SHA-256 when they came.

    What is named is asked of the platform each time, so that an alias that has moved names the other version; files that are here are
    not fetched again. The directory is shared: read it, and copy what you want to change. Several processes may load the same at once.

    Args:
        reference: `digits@champion` (an alias), `digits@3` (a version), `digits` (the latest), each also as `workspace/digits…`;
            `experiment:31` (its best checkpoint); `checkpoint:ID`.
        cache: Where files are kept; default `MUSTER_CACHE`, else `~/.cache/muster`.
        client: Who asks; by default a client of the platform that `muster.client.connect` finds.

    Raises:
        NotFound: There is no such thing.
        Rejected: The reference is malformed, or the cache cannot be written.
        Broken: A file is not what the platform says it stored.
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
        f"{reference!r} names nothing that can be loaded",
        hint="write a model as digits@champion, or experiment:31, or checkpoint:ID",
    )


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Holds the place against other processes of this machine."""
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
            hint="set MUSTER_CACHE to a folder that can",
        ) from error


def _is_whole(place: Path) -> bool:
    """Whether every file is as it was when it was checked."""
    try:
        stamps: dict[str, list[int]] = json.loads((place / CHECKED).read_text())
        return all(_stamp(place / FILES / path) == stamp for path, stamp in stamps.items())
    except (OSError, ValueError):
        return False


def _stamp(file: Path) -> list[int]:
    found = file.stat()
    return [found.st_size, found.st_mtime_ns]
