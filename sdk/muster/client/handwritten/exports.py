"""Exports of an experiment's metrics or trial table as Arrow or Parquet: into a directory, or as bytes.

No Arrow library is needed.
"""

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.files.download import OnBytes, fetch_into
from muster.client.http.transport import Query, Reference, segment

Format = Literal["arrow", "parquet"]
POLL_S = 0.5


class HandwrittenExports(APIResource):
    """Methods of `client.exports`."""

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
        """Export the metrics of an experiment and download the files into `directory`, verified by SHA-256, all files or none.

        Columns are trial (its number), run, group, name, step, time and value, sorted by trial, group, name and step across files.
        For trials that were rolled back, superseded points are omitted. NaN and infinities are preserved.
        """
        query: Query = {"format": format, "name": names, "group": group}
        return self._fetch(
            f"/v1/experiments/{segment(experiment)}/metrics/export", query, directory, on_bytes
        )

    def table(
        self,
        experiment: Reference,
        directory: Path,
        *,
        format: Format = "parquet",
        filter: str = "",
        sort: str = "",
        columns: Sequence[str] = (),
        on_bytes: OnBytes | None = None,
    ) -> models.Export:
        """Export an experiment's trial table and download the files into `directory`, as `metrics` does.

        Columns are `trial` (its number) and the chosen columns, as in `Trials.table`; without `columns`, all hyperparameters and the last
        values of all metrics. A hyperparameter with one type in all trials keeps its type; others are JSON text.
        """
        query: Query = {"format": format, "filter": filter, "sort": sort, "column": columns}
        return self._fetch(f"/v1/experiments/{segment(experiment)}/table/export", query, directory, on_bytes)

    def arrow(
        self, experiment: Reference, *, names: Sequence[str] = (), group: str | None = None
    ) -> Iterator[bytes]:
        """Yield the metrics of an experiment as complete Arrow IPC streams: `pyarrow.ipc.open_stream(part).read_all()`."""
        with tempfile.TemporaryDirectory(prefix="muster-export-") as above:
            folder = Path(above) / "metrics"
            self.metrics(experiment, folder, format="arrow", names=names, group=group)
            yield from _contents(folder)

    def table_arrow(
        self, experiment: Reference, *, filter: str = "", sort: str = "", columns: Sequence[str] = ()
    ) -> Iterator[bytes]:
        """Yield an experiment's trial table as complete Arrow IPC streams."""
        with tempfile.TemporaryDirectory(prefix="muster-export-") as above:
            folder = Path(above) / "table"
            self.table(experiment, folder, format="arrow", filter=filter, sort=sort, columns=columns)
            yield from _contents(folder)

    def _fetch(self, path: str, query: Query, directory: Path, on_bytes: OnBytes | None) -> models.Export:
        found = self._transport.get(models.Export, path, query)
        while not found.ready:
            time.sleep(POLL_S)
            found = self._transport.get(models.Export, path, {**query, "export": str(found.id)})
        named = {**query, "export": str(found.id)}

        def listing() -> models.Download:
            return models.Download(checkpoint=found.id, step=0, files=list(self._files(path, named)))

        fetched = fetch_into(directory, listing, on_bytes)
        return found.model_copy(update={"files": fetched.files, "next_cursor": None})

    def _files(self, path: str, query: Query) -> Iterator[models.FileDownload]:
        cursor: str | None = None
        while True:
            page = self._transport.get(models.Export, path, {**query, "cursor": cursor})
            yield from page.files
            cursor = page.next_cursor
            if cursor is None:
                return


def _contents(folder: Path) -> Iterator[bytes]:
    for file in sorted(folder.iterdir()):
        yield file.read_bytes()
