"""Experiments as a TensorBoard log folder: a subfolder per trial, with scalars and media by group and name, and hyperparameters.

Event files that a script wrote are copied below it. Needs `tensorboard` (the extra `muster[tensorboard]`), but neither TensorFlow
nor torch.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import JsonValue

from muster._missing_framework import missing
from muster.client import models
from muster.client.client import Client
from muster.client.handwritten.media import path_of, write_piece
from muster.client.http.transport import Reference
from muster.client.metric_values import value_of

POINTS = 5_000
"""Maximum points of a metric per response; longer series are thinned and keep their shape."""

OWN_KINDS = ("image", "table", "text", "histogram")
"""Media kinds written as events; `events` are files written by the script."""

try:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import metadata, plugin_data_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    from muster._tensorboard_media import event_of
except ImportError as error:
    raise missing("tensorboard", error) from error


class Logdir:
    """Writes new points and media of experiments below a folder on each update."""

    def __init__(self, client: Client, experiments: Sequence[Reference], folder: Path) -> None:
        self._client = client
        self._experiments = experiments
        self._folder = folder
        self._writers: dict[str, EventFileWriter] = {}
        self._written: dict[tuple[str, str, str], int] = {}
        self._stored: dict[str, str] = {}
        self._done: set[str] = set()

    def update(self) -> int:
        """Write all new points and media, and return their number.

        Raises:
            NotFound: An experiment does not exist.
        """
        written = 0
        for reference in self._experiments:
            for trial in self._client.trials.list(reference):
                written += self._write(trial)
        for writer in self._writers.values():
            writer.flush()
        return written

    def close(self) -> None:
        """Close the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _write(self, trial: models.Trial) -> int:
        name = f"{trial.experiment_number}.{trial.number}"
        if name in self._done:
            return 0
        written = 0
        for series in self._client.trials.metrics(name, max_points=POINTS).series:
            place = name, series.group, series.name
            behind = self._written.get(place)
            for point in series.points:
                if behind is not None and point.step <= behind:
                    continue
                self._writer(trial, name).add_event(_scalar(series, point))
                self._written[place] = point.step
                written += 1
        written += self._write_media(trial, name)
        # The last points may arrive after the end of the trial; an update without new points confirms that all were written.
        if trial.final and not written and (name in self._writers or name in self._stored):
            self._done.add(name)
        return written

    def _write_media(self, trial: models.Trial, name: str) -> int:
        """Write media stored after the last written item."""
        written = 0
        for item, content in self._client.media.read(
            self._client.media.list(name, after=self._stored.get(name))
        ):
            if item.kind in OWN_KINDS:
                self._writer(trial, name).add_event(event_of(item, content))
            else:
                write_piece(self._folder / name / path_of(item), item.step, content)
            self._stored[name] = item.id
            written += 1
        return written

    def _writer(self, trial: models.Trial, name: str) -> EventFileWriter:
        if name not in self._writers:
            self._writers[name] = EventFileWriter(str(self._folder / name))
            self._writers[name].add_event(_session(trial, name))
        return self._writers[name]


def _scalar(series: models.MetricSeries, point: models.MetricPoint) -> Event:
    tagged = Summary.Value(tag=f"{series.group}/{series.name}", simple_value=value_of(point))
    return Event(wall_time=point.time.timestamp(), step=point.step, summary=Summary(value=[tagged]))


def _session(trial: models.Trial, name: str) -> Event:
    """Return the trial's hyperparameters for TensorBoard's HParams plugin."""
    info = plugin_data_pb2.SessionStartInfo(group_name=name, start_time_secs=trial.created_at.timestamp())
    for path, value in _leaves(trial.hyperparameters, ""):
        if isinstance(value, bool):
            info.hparams[path].bool_value = value
        elif isinstance(value, int | float):
            info.hparams[path].number_value = value
        else:
            info.hparams[path].string_value = str(value)
    data = plugin_data_pb2.HParamsPluginData(session_start_info=info)
    tagged = Summary.Value(
        tag=metadata.SESSION_START_INFO_TAG, metadata=metadata.create_summary_metadata(data)
    )
    return Event(wall_time=trial.created_at.timestamp(), summary=Summary(value=[tagged]))


def _leaves(values: models.JsonObject, place: str) -> Iterator[tuple[str, JsonValue]]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{place}{key}.")
        else:
            yield f"{place}{key}", value
