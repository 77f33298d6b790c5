"""Media of trials: read them from the object store, and write them to files."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import httpx

from muster._media.content import EXTENSIONS
from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.errors import reached, wait_s
from muster.client.http.fields import query_params
from muster.client.http.paging import pages
from muster.client.http.transport import ATTEMPTS, TIMEOUT, Reference, segment
from muster.errors import Broken, Rejected, Transient

SPAN_BYTES = 24 * 1024 * 1024
"""Maximum bytes per request; adjacent items in the store are read together."""


class HandwrittenMedia(APIResource):
    """Methods of `client.media` that are not generated."""

    def read(self, items: Iterable[models.MediaItem]) -> Iterator[tuple[models.MediaItem, bytes]]:
        """Yield each item with its bytes, verified by SHA-256; adjacent items of one object are read in one request.

        Raises:
            Broken: The bytes differ from the stored ones.
            Transient: The store does not answer, or the URLs have expired: list again.
        """
        with httpx.Client(timeout=TIMEOUT) as http:
            for run in _spans(items):
                first, last = run[0].offset, max(one.offset + one.size_bytes for one in run)
                body = _fetch(http, run[0].url, first, last - first)
                for one in run:
                    content = body[one.offset - first : one.offset - first + one.size_bytes]
                    if hashlib.sha256(content).hexdigest() != one.sha256:
                        raise Broken(
                            f"{one.name} of step {one.step} is damaged: its hash differs from the stored one"
                        )
                    yield one, content

    def download(
        self,
        trial: Reference,
        directory: Path,
        *,
        kinds: Sequence[str] = (),
        group: str | None = None,
        names: Sequence[str] = (),
        first_step: int | None = None,
        last_step: int | None = None,
    ) -> int:
        """Write a trial's media below `directory` as `kind/group/name/step.png` etc.; return the number of items.

        Event files are complete, below `events`. Repeating a download replaces existing files.

        Raises:
            Rejected: The directory cannot be written.
        """
        query = query_params(kind=kinds, group=group, name=names, first_step=first_step, last_step=last_step)
        found = pages(self._transport, models.MediaPage, f"/v1/trials/{segment(trial)}/media", query)
        written: dict[Path, int] = {}
        try:
            for item, content in self.read(found):
                path = directory / path_of(item)
                again = written[path] = written.get(path, 0) + 1
                if item.kind == "events":
                    write_piece(path, item.step, content)
                    continue
                if again > 1:
                    path = path.with_stem(f"{path.stem}-{again}")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        except OSError as error:
            raise Rejected(
                "cannot_write", f"media cannot be stored: {error.strerror or error}", place=str(directory)
            ) from error
        return sum(written.values())


def path_of(item: models.MediaItem) -> Path:
    """Return the path of an item below a media folder; refuse names that leave the folder."""
    if item.kind == "events":
        parts = item.name.split("/")
        if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
            raise Broken(f"the file path {item.name!r} leaves the target folder")
        return Path("events", *parts)
    ending = EXTENSIONS.get(item.content_type, "bin")
    return Path(item.kind, _safe(item.group), _safe(item.name), f"{item.step}.{ending}")


def write_piece(path: Path, at: int, content: bytes) -> None:
    """Write a chunk of a file at its offset; chunks may arrive in any order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("r+b" if path.exists() else "wb") as file:
        file.seek(at)
        file.write(content)


def _safe(name: str) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "._- =," else "_" for letter in name)
    return "_" if plain in (".", "..") else plain


def _spans(items: Iterable[models.MediaItem]) -> Iterator[list[models.MediaItem]]:
    """Group adjacent items of one object into spans that one request reads."""
    for _, group in groupby(items, key=lambda one: one.url.split("?", 1)[0]):
        span: list[models.MediaItem] = []
        for one in group:
            if span and one.offset + one.size_bytes - span[0].offset > SPAN_BYTES:
                yield span
                span = []
            span.append(one)
        yield span


def _fetch(http: httpx.Client, url: str, first: int, size: int) -> bytes:
    if size == 0:
        return b""
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={first}-{first + size - 1}"}
    for attempt in range(ATTEMPTS):
        try:
            with reached(url.split("?", 1)[0], "object store"):
                answer = http.get(url, headers=headers)
            if answer.status_code == httpx.codes.NOT_FOUND:
                raise Broken("the media item is no longer in the object store")
            if not answer.is_success:
                raise Transient(f"the object store answered {answer.status_code} for a media item")
            whole = answer.status_code != httpx.codes.PARTIAL_CONTENT
            return answer.content[first : first + size] if whole else answer.content
        except Transient as error:
            if attempt + 1 == ATTEMPTS:
                raise
            time.sleep(wait_s(attempt, error.retry_after_s))
    raise AssertionError("the last attempt raises")
