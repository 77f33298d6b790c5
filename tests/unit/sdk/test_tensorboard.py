"""Metrics as TensorBoard reads them: TensorBoard's own reader is asked."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

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
