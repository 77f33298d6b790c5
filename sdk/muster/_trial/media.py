"""Media of a trial: the logging methods of `Trial`, and the spool from which the worker uploads while training continues."""

import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from muster import _clock, wire
from muster._media import Content, histogram_of, image_of, table_of, text_of
from muster._media.content import EXTENSIONS
from muster._trial.validation import check_step
from muster.errors import Rejected

MAX_NAME_BYTES = 256
FULL_AGAIN_S = 5.0


class MediaSpoolWriter:
    """Writes media to the trial's spool, or to files below ./media without a platform. Thread-safe.

    If the disk or the spool is full, media are dropped with a warning, and training continues.
    """

    def __init__(self, description: wire.TrialFile) -> None:
        self.tensorboard = Path(description.tensorboard)
        self._folder = description.media
        self._is_alone = not description.socket
        self.takes_pixels = description.takes_pixels and not self._is_alone
        self._lock = threading.Lock()
        self._file = -1
        self._pid = 0
        self._file_bytes = 0
        self._looks_again_at = 0.0

    def add(self, kind: str, step: int, name: str, group: str, content: Content) -> None:
        """Store a media item; after this returns, a crash of the process does not lose it."""
        _check_name("name", name)
        _check_name("group", group)
        if self._is_alone:
            _write_alone(kind, step, name, group, content)
        elif self._folder:
            size = len(content.body)
            head = wire.MediaHead(
                kind, group, name, step, _clock.now_ms(), content.content_type, size, content.about
            )
            with self._lock:
                self._append(wire.encode_head(head), content.body)

    def _append(self, head: bytes, body: bytes) -> None:
        size = len(head) + len(body)
        try:
            if not self._has_file_for(size):
                return
            if os.writev(self._file, (head, body)) == size:
                self._file_bytes += size
                return
            os.ftruncate(self._file, self._file_bytes)  # a full disk may write partially without an error
            self._drop("the disk is full")
        except OSError as error:
            self._drop(error.strerror or str(error))

    def _has_file_for(self, size: int) -> bool:
        """Whether a file of this process can take `size` bytes; opens a new file when the current one is full."""
        is_open = self._file >= 0 and self._pid == os.getpid()
        if is_open and self._file_bytes + size <= wire.SPOOL_FILE_BYTES:
            return True
        if time.monotonic() < self._looks_again_at:
            return False
        waiting = _bytes_in(self._folder)
        if waiting + size > wire.SPOOL_BYTES:
            self._drop(f"{waiting >> 20} MiB are waiting for upload")
            return False
        if is_open:
            os.close(self._file)
        self._file = -1  # if opening the next file fails, the old descriptor may belong to another file
        name = f"{time.time_ns():020d}-{os.getpid()}{wire.SPOOL_SUFFIX}"
        self._file = os.open(
            Path(self._folder, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644
        )
        self._pid, self._file_bytes = os.getpid(), 0
        return True

    def _drop(self, reason: str) -> None:
        now = time.monotonic()
        if now >= self._looks_again_at:
            print(f"muster: warning: logged media was dropped: {reason}", file=sys.stderr, flush=True)
        self._looks_again_at = now + FULL_AGAIN_S


class MediaMethods:
    """Methods of `Trial` that log media. Only media of rank 0 are recorded. Each call returns when the item is safe from a crash; the worker uploads it."""

    rank: int
    _media: MediaSpoolWriter

    @property
    def tensorboard_dir(self) -> Path:
        """Folder for TensorBoard event files: `SummaryWriter(trial.tensorboard_dir)`. Files of all ranks are uploaded as they grow.

        The environment variable MUSTER_TENSORBOARD_DIR has the same value. Without a platform it is ./runs.
        """
        return self._media.tensorboard

    def log_image(
        self, step: int, name: str, image: object, *, caption: str = "", group: str = "training"
    ) -> None:
        """Log an image at `step`.

        Args:
            step: Training step.
            name: Name of the series of images.
            image: A PIL image, a matplotlib figure, an array of shape (height, width) or (height, width, channels), a torch tensor
                of shape (channels, height, width), or the path or bytes of a PNG, JPEG, GIF or WebP file. Floats range from 0 to
                1, integers from 0 to 255.
            caption: Text shown with the image.
            group: Group of the series.

        Raises:
            Rejected: The image has another type, or its file exceeds 16 MiB.
        """
        if self.rank == 0:
            content = image_of(image, caption, as_pixels=self._media.takes_pixels)
            self._media.add("image", check_step(step), name, group, content)

    def log_table(
        self,
        step: int,
        name: str,
        table: object,
        columns: Sequence[str] | None = None,
        *,
        group: str = "training",
    ) -> None:
        """Log a table at `step`: a data frame, a dict of lists, a list of dicts, or rows with the names of their `columns`.

        Raises:
            Rejected: The table has another type, rows of different lengths, more than 100,000 rows, or more than 16 MiB.
        """
        if self.rank == 0:
            self._media.add("table", check_step(step), name, group, table_of(table, columns))

    def log_text(self, step: int, name: str, text: str, *, group: str = "training") -> None:
        """Log a text of at most 16 MiB at `step`; it is rendered as Markdown.

        Raises:
            Rejected: The value is not a string, or it is too long.
        """
        if self.rank == 0:
            self._media.add("text", check_step(step), name, group, text_of(text))

    def log_histogram(
        self, step: int, name: str, values: object, *, bins: int = 64, group: str = "training"
    ) -> None:
        """Log the distribution of values at `step` as a histogram of some hundred bytes.

        Args:
            step: Training step.
            name: Name of the series of histograms.
            values: A tensor (counted on its own device), an array, numbers, or (counts, edges) as returned by `numpy.histogram`.
                Non-finite values are counted separately.
            bins: Number of bins of equal width from the smallest to the largest value.
            group: Group of the series.

        Raises:
            Rejected: The values are not numbers, or there are more than 1,024 bins.
        """
        if self.rank == 0:
            self._media.add("histogram", check_step(step), name, group, histogram_of(values, bins))


def _check_name(place: str, name: object) -> None:
    if not isinstance(name, str) or not name.strip() or len(name.encode("utf-8", "replace")) > MAX_NAME_BYTES:
        raise Rejected(
            "media_name",
            f"a name must be a string of 1 to {MAX_NAME_BYTES} bytes, not {str(name)[:60]!r}",
            place=place,
        )
    if not name.isprintable():
        raise Rejected("media_name", f"{name[:60]!r} contains unprintable characters", place=place)


def _bytes_in(folder: str) -> int:
    """Bytes in the folder; the worker may delete uploaded files meanwhile."""
    total = 0
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            total += entry.stat().st_size
    return total


def _write_alone(kind: str, step: int, name: str, group: str, content: Content) -> None:
    safe = "".join(letter if letter.isalnum() or letter in "._- " else "_" for letter in name)
    path = Path("media", group.replace("/", "_"), f"{safe}-{step}.{EXTENSIONS[content.content_type]}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.body)
    print(f"[muster] {kind:<10} step {step}  {path}", flush=True)
