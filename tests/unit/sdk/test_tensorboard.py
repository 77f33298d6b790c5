"""Metrics as TensorBoard reads them: TensorBoard's own reader is asked."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from muster._media import Content, histogram_of, image_of, table_of, text_of
from muster.client import models
from muster.client.client import Client
from muster.tensorboard import Logdir
from tests.unit.sdk.shell import TRIAL, Shell


class Platform:
    """Two trials, of which the first has as many points as it is told."""

    def __init__(self) -> None:
        self.points: list[tuple[int, float | None]] = [(1, 0.5), (2, None)]
        self.asked: list[str] = []
        hyperparameters = {"opt": {"lr": 0.1, "nesterov": True}, "name": "adam"}
        self.listed = [
            models.Trial.model_validate(TRIAL | {"number": number, "hyperparameters": hyperparameters})
            for number in (1, 2)
        ]
        self.trials = SimpleNamespace(list=lambda _: self.listed, metrics=self.metrics)
        self.stored: list[tuple[models.MediaItem, bytes]] = []
        self.media = SimpleNamespace(list=self.behind, read=lambda pieces: pieces)

    def behind(self, name: str, after: str | None) -> list[tuple[models.MediaItem, bytes]]:
        ids = [item.id for item, _ in self.stored]
        return self.stored[ids.index(after) + 1 if after else 0 :] if name == "31.1" else []

    def store(self, kind: str, name: str, step: int, content: Content) -> None:
        piece = {
            "id": f"1.{len(self.stored)}", "kind": kind, "group": "training", "name": name, "step": step, "run": 1,
            "time": "2026-01-01T00:00:00Z", "content_type": content.content_type, "size_bytes": len(content.body),
            "sha256": "", "url": "", "offset": 0, "about": content.about,
        }  # fmt: skip
        self.stored.append((models.MediaItem.model_validate(piece), content.body))

    def metrics(self, name: str, max_points: int) -> Any:
        self.asked.append(name)
        points = [
            {"step": step, "time": "2026-01-01T00:00:00Z", "run": 1, "value": value}
            for step, value in self.points
        ]
        series = {"group": "validation", "name": "loss", "count": len(points), "points": points}
        return SimpleNamespace(series=[models.MetricSeries.model_validate(series)] if name == "31.1" else [])


def read(folder: Path) -> tuple[list[tuple[str, int, float]], dict[str, Any]]:
    """The scalars and hyperparameters below a folder, as TensorBoard reads them."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from tensorboard.plugins.hparams import metadata

    scalars, hyperparameters = [], {}
    for file in sorted(folder.iterdir()):
        for event in LegacyEventFileLoader(str(file)).Load():
            for value in event.summary.value:
                if value.HasField("simple_value"):
                    scalars.append((value.tag, event.step, value.simple_value))
                else:
                    info = metadata.parse_session_start_info_plugin_data(value.metadata.plugin_data.content)
                    hyperparameters = {
                        name: getattr(one, one.WhichOneof("kind")) for name, one in info.hparams.items()
                    }
    return scalars, hyperparameters


def test_each_trial_is_a_folder_and_what_is_new_is_added(tmp_path: Path) -> None:
    platform = Platform()
    files = Logdir(cast(Client, platform), ["31"], tmp_path)
    assert files.update() == 2
    platform.points.append((3, 0.25))
    assert (files.update(), files.update()) == (1, 0)
    files.close()
    assert [one.name for one in tmp_path.iterdir()] == ["31.1"], "a trial that said nothing has no folder"
    scalars, hyperparameters = read(tmp_path / "31.1")
    assert [(tag, step) for tag, step, _ in scalars] == [("validation/loss", step) for step in (1, 2, 3)]
    assert [scalars[0][2], scalars[2][2]] == [0.5, 0.25] and math.isnan(scalars[1][2])
    assert hyperparameters == {"opt.lr": pytest.approx(0.1), "opt.nesterov": True, "name": "adam"}


def test_a_trial_that_has_ended_is_asked_for_until_there_is_nothing_new(tmp_path: Path) -> None:
    platform = Platform()
    platform.listed = [one.model_copy(update={"final": one.number == 1}) for one in platform.listed]
    files = Logdir(cast(Client, platform), ["31"], tmp_path)
    assert files.update() == 2
    platform.points.append((3, 0.25))
    assert [files.update() for _ in range(4)] == [1, 0, 0, 0]
    files.close()
    assert (platform.asked.count("31.1"), platform.asked.count("31.2")) == (3, 5)


def test_files_alone_need_a_place(shell: Shell) -> None:
    ended = shell("tensorboard", "31", "--once")
    assert ended.code == 3 and "--logdir" in ended.err and not shell.requests


def test_media_stand_beside_the_metrics_and_event_files_below_them(tmp_path: Path) -> None:
    """TensorBoard's own loader is asked, which its dashboards read by."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
    from tensorboard.util.tensor_util import make_ndarray

    platform = Platform()
    platform.store("image", "samples", 1, image_of(np.zeros((2, 3, 3), dtype=np.uint8)))
    platform.store("histogram", "weights", 1, histogram_of([0.0, 1.0, 1.0, 2.0], bins=2))
    platform.store("text", "notes", 1, text_of("some **words**"))
    platform.store("table", "cases", 1, table_of([[1, "a|b"]], ["n", "text"]))
    platform.store("events", "deep/events.out.tfevents.1", 0, Content("application/octet-stream", b"first "))
    files = Logdir(cast(Client, platform), ["31"], tmp_path)
    assert files.update() == 2 + 5
    platform.store("events", "deep/events.out.tfevents.1", 6, Content("application/octet-stream", b"second"))
    assert (files.update(), files.update()) == (1, 0)
    files.close()
    assert (tmp_path / "31.1/events/deep/events.out.tfevents.1").read_bytes() == b"first second"
    [ours] = (tmp_path / "31.1").glob("events.out.*")
    values = [value for event in EventFileLoader(str(ours)).Load() for value in event.summary.value]
    tensors = {value.tag: value.tensor for value in values if value.HasField("tensor")}
    plugins = {value.tag: value.metadata.plugin_data.plugin_name for value in values}
    assert [plugins[f"training/{name}"] for name in ("samples", "weights", "notes", "cases")] == [
        "images",
        "histograms",
        "text",
        "text",
    ]
    assert tensors["training/notes"].string_val == [b"some **words**"]
    assert tensors["training/cases"].string_val == [b"| n | text |\n| --- | --- |\n| 1 | a\\|b |"]
    width, height, image = tensors["training/samples"].string_val
    assert (width, height, image[:4]) == (b"3", b"2", b"\x89PNG")
    buckets = make_ndarray(tensors["training/weights"])
    assert buckets[buckets[:, 2] > 0].tolist() == [[0.0, 1.0, 1.0], [1.0, 2.0, 3.0]]


def test_what_summary_writer_wrote_is_read_whole(tmp_path: Path) -> None:
    """An event file that comes in pieces cut anywhere."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path / "runs")) as writer:
        for step in range(20):
            writer.add_scalar("loss", 1 / (step + 1), step)
    [file] = (tmp_path / "runs").iterdir()
    whole = file.read_bytes()
    platform = Platform()
    for at in range(0, len(whole), 77):
        piece = Content("application/octet-stream", whole[at : at + 77])
        platform.store("events", f"runs/{file.name}", at, piece)
    files = Logdir(cast(Client, platform), ["31"], tmp_path / "logdir")
    files.update()
    files.close()
    copied = tmp_path / "logdir/31.1/events/runs" / file.name
    steps = [event.step for event in LegacyEventFileLoader(str(copied)).Load() if event.summary.value]
    assert steps == list(range(20))
