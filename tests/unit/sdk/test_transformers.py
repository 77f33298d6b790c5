"""Hugging Face's own Trainer, with a trial that only remembers. It is imported by the tests: whoever collects them all need not."""

from pathlib import Path
from typing import cast

import pytest
import torch

from muster import Trial
from muster.errors import Rejected
from tests.unit.sdk.remembering import Remembering


class Model(torch.nn.Module):
    """Its line takes four numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(4, 1)

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        found = self.line(inputs)
        return {"loss": torch.nn.functional.mse_loss(found, labels), "logits": found}


class Wider(Model):
    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(5, 1)


def fit(trial: Remembering, of: type[Model] = Model) -> Model:
    """Train three epochs of five batches."""
    from transformers import Trainer, TrainingArguments

    import muster.transformers

    torch.manual_seed(3)
    model = of()
    inputs = torch.randn(40, 4)
    data = [{"inputs": one, "labels": one.sum(0, keepdim=True)} for one in inputs]
    mine = cast(Trial, trial)
    arguments = TrainingArguments(
        str(trial.folder / "output"),
        num_train_epochs=3,
        learning_rate=0.05,
        per_device_train_batch_size=8,
        logging_steps=2,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    callbacks = [muster.transformers.MusterCallback(mine)]
    Trainer(model, arguments, train_dataset=data, eval_dataset=data, callbacks=callbacks).train(
        resume_from_checkpoint=muster.transformers.latest(mine, model)
    )
    return model


def test_it_reports_validates_and_saves(tmp_path: Path) -> None:
    trial = Remembering(tmp_path)
    fit(trial)
    assert list(trial.reported) == [2, 4, 6, 8, 10, 12, 14, 15]
    assert "loss" in trial.reported[2]
    assert list(trial.validated) == trial.saved == [5, 10, 15]
    assert trial.validated[15]["eval_loss"] < trial.validated[5]["eval_loss"]


@pytest.mark.parametrize("calls", [6, 8])
def test_it_stops_saves_and_goes_on(tmp_path: Path, calls: int) -> None:
    """At an epoch's end and within one: the resumed training is the unbroken one."""
    whole = fit(Remembering(tmp_path / "whole"))
    stopped = Remembering(tmp_path / "stopped", stop_at=calls)
    fit(stopped)
    at = stopped.saved[-1]
    assert at == {6: 5, 8: 7}[calls]
    resumed = Remembering(tmp_path / "resumed", latest_checkpoint=tmp_path / "stopped" / str(at))
    model = fit(resumed)
    assert min(resumed.validated) > at and max(resumed.validated) == resumed.saved[-1] == 15
    assert torch.equal(model.line.weight, whole.line.weight)


def test_ranks_that_did_not_meet_by_torch_are_refused(tmp_path: Path) -> None:
    import muster.transformers

    with pytest.raises(Rejected, match="set `distributed: torch` in the config"):
        muster.transformers.MusterCallback(cast(Trial, Remembering(tmp_path, size=2)))


def test_a_checkpoint_of_something_else_is_told(tmp_path: Path) -> None:
    import muster.transformers

    with pytest.raises(Rejected, match=r"was not written by muster\.transformers\.MusterCallback"):
        muster.transformers.latest(cast(Trial, Remembering(tmp_path, latest_checkpoint=tmp_path)))
    stopped = Remembering(tmp_path / "stopped", stop_at=6)
    fit(stopped)
    with pytest.raises(Rejected, match=r"Wider: line.weight is \[1, 4\] in the checkpoint, \[1, 5\] here"):
        fit(Remembering(tmp_path / "resumed", latest_checkpoint=tmp_path / "stopped" / "5"), Wider)
