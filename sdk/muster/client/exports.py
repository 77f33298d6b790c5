"""All points of an experiment as Arrow or Parquet: into a directory, or as bytes for a reader. Needs no Arrow library itself."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from muster.client import models
from muster.client.download import OnBytes, fetch_into
from muster.client.transport import Query, Reference, Transport, segment

Format = Literal["arrow", "parquet"]
POLL_S = 0.5


class Exports:
    """What leaves in bulk."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def metrics(
        self,
        experiment: Reference,
        directory: Path,
        *,
        format: Format = "parquet",
        names: Sequence[str] = (),
        group: str | None = None,
        on_bytes: OnBytes | None = None,
    ) -> models.Export:
        """Have the metrics of an experiment written, and fetch the files into `directory`, checked by SHA-256, all or none.

        Rows are trial (its number), run, group, name, step, time and value, by trial, group, name and step over all files; of a trial
        that was rolled back, those that count. NaN and the infinities stay what they are.
        """
        query: Query = {"format": format, "name": names, "group": group}
        written = self._written(experiment, query)

        def listing() -> models.Download:
            found = self._written(experiment, {**query, "export": str(written.id)})
            return models.Download(checkpoint=found.id, step=0, files=found.files)

        fetch_into(directory, listing, on_bytes)
        return written

    def arrow(
        self, experiment: Reference, *, names: Sequence[str] = (), group: str | None = None
    ) -> Iterator[bytes]:
        """Yield the metrics of an experiment as Arrow IPC streams, each whole: `pyarrow.ipc.open_stream(part).read_all()`."""
        with tempfile.TemporaryDirectory(prefix="muster-export-") as above:
            folder = Path(above) / "metrics"
            self.metrics(experiment, folder, format="arrow", names=names, group=group)
            for file in sorted(folder.iterdir()):
                yield file.read_bytes()

    def _written(self, experiment: Reference, query: Query) -> models.Export:
        path = f"/v1/experiments/{segment(experiment)}/metrics/export"
        found = self._transport.get(models.Export, path, query)
        while not found.ready:
            time.sleep(POLL_S)
            found = self._transport.get(models.Export, path, {**query, "export": str(found.id)})
        return found
