"""PyTorch Lightning's own Trainer, with a trial that only remembers. It is imported by the tests: whoever collects them all need not."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from muster import Trial
from muster.errors import Rejected
from tests.unit.sdk.remembering import Remembering

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule


@cache
def model_class(outputs: int = 1) -> "type[LightningModule]":
    """Of one line, whose shape checkpoints must fit."""
    from lightning.pytorch import LightningModule

    class Line(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.line = torch.nn.Linear(4, outputs)

        def training_step(self, batch: list[torch.Tensor]) -> torch.Tensor:
            loss = torch.nn.functional.mse_loss(self.line(batch[0]), batch[1])
            self.log("loss", loss)
            return loss

        def validation_step(self, batch: list[torch.Tensor]) -> None:
            self.log("error", torch.nn.functional.mse_loss(self.line(batch[0]), batch[1]))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=0.05)

    return Line


def fit(trial: Remembering, outputs: int = 1, **options: Any) -> "LightningModule":
    """Train three epochs of five batches."""
    from lightning.pytorch import Trainer, seed_everything

    import muster.lightning

    seed_everything(3, verbose=False)
    inputs = torch.randn(40, 4)
    data = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), 8)
    given = {"max_epochs": 3, "log_every_n_steps": 2, "accelerator": "cpu", **options}
    made = model_class(outputs)()
    mine = cast(Trial, trial)
    Trainer(**given, **muster.lightning.arguments(mine)).fit(
        made, data, data, ckpt_path=muster.lightning.latest(mine)
    )
    return made


def test_it_reports_validates_and_saves(tmp_path: Path) -> None:
    trial = Remembering(tmp_path)
    fit(trial)
    assert list(trial.reported) == [2, 4, 6, 8, 10, 12, 14]
    assert "loss" in trial.reported[2] and "error" not in trial.reported[2]
    assert list(trial.validated) == trial.saved == [5, 10, 15]
    assert trial.validated[15]["error"] < trial.validated[5]["error"]
    assert "loss" not in trial.validated[5]


@pytest.mark.parametrize("calls", [5, 8])
def test_it_stops_saves_and_goes_on(tmp_path: Path, calls: int) -> None:
    """At an epoch's end and within one: what was trained is kept, and only the rest is trained."""
    whole = fit(Remembering(tmp_path / "whole"))
    stopped = Remembering(tmp_path / "stopped", stop_at=calls)
    fit(stopped)
    at = stopped.saved[-1]
    assert at < 15
    resumed = Remembering(tmp_path / "resumed", latest_checkpoint=tmp_path / "stopped" / str(at))
    module = fit(resumed)
    assert min(resumed.validated) > at and max(resumed.validated) == resumed.saved[-1] == 15
    if at % 5 == 0:
        assert torch.equal(module.line.weight, whole.line.weight)


def test_ranks_that_did_not_meet_by_torch_are_refused(tmp_path: Path) -> None:
    import muster.lightning

    with pytest.raises(Rejected, match="set `distributed: torch` in the config"):
        muster.lightning.arguments(cast(Trial, Remembering(tmp_path, size=2)))


def test_a_checkpoint_of_another_model_is_told(tmp_path: Path) -> None:
    trial = Remembering(tmp_path)
    fit(trial, max_epochs=1)
    with pytest.raises(Rejected, match=r"does not match the script's Line.*size mismatch for line") as told:
        fit(Remembering(tmp_path / "other", latest_checkpoint=tmp_path / "5"), outputs=2)
    assert told.value.code == "checkpoint_mismatch"
    (tmp_path / "foreign").mkdir()
    with pytest.raises(Rejected, match=r"was not written by muster\.lightning\.MusterCallback"):
        fit(Remembering(tmp_path / "third", latest_checkpoint=tmp_path / "foreign"))
