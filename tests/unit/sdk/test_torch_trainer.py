"""The training loop, in this process and with a trial that only remembers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from muster import Trial
from muster.errors import Rejected
from muster.torch import Trainer, batches, epochs
from tests.unit.sdk.remembering import Remembering

Batch = list[torch.Tensor]


class Training:
    """A small training of 40 samples in batches of 8: five batches an epoch. Everything is as large as it must be to go wrong."""

    def __init__(self, trial: Remembering, lr: float = 0.1, **options: Any) -> None:
        torch.manual_seed(1)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr, momentum=0.9)
        inputs = torch.randn(40, 4, generator=torch.Generator().manual_seed(2))
        data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
        self.train = DataLoader(data, 8, shuffle=True)
        self.held_out = DataLoader(data, 16)
        if options.pop("scheduled", False):
            options["scheduler"] = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, 0.5)
        self.trainer = Trainer(
            cast(Trial, trial), self.model, self.optimizer, train_step, validate_step, **options
        )

    def weights(self) -> torch.Tensor:
        return torch.cat([one.detach().flatten() for one in self.model.state_dict().values()])


def train_step(model: nn.Module, batch: Batch) -> torch.Tensor:
    inputs, wanted = batch
    return torch.nn.functional.mse_loss(model(inputs), wanted)


def validate_step(model: nn.Module, batch: Batch) -> dict[str, torch.Tensor]:
    assert not model.training and not torch.is_grad_enabled()
    inputs, wanted = batch
    return {
        "error": torch.nn.functional.mse_loss(model(inputs), wanted),
        "samples": torch.tensor(len(inputs)),
    }


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other take most of the time of so small a training."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def trial(tmp_path: Path) -> Callable[..., Remembering]:
    return lambda name="trial", **more: Remembering(tmp_path / name, **more)


def test_everything_is_done_when_it_is_due(trial: Callable[..., Remembering]) -> None:
    mine = trial()
    training = Training(mine)
    found = training.trainer.fit(
        training.train,
        training.held_out,
        until=batches(12),
        validate_every=epochs(1),
        checkpoint_every=batches(4),
        report_every=batches(6),
    )
    assert list(mine.reported) == [6, 12] and set(mine.reported[6]) == {"loss"}
    assert list(mine.validated) == [5, 10, 12]
    assert mine.saved == [4, 8, 12]
    assert mine.validated[10]["epochs"] == 2.0
    assert found == {name: mine.validated[12][name] for name in ("error", "samples")}


def test_a_validation_is_the_mean_over_all_samples(trial: Callable[..., Remembering]) -> None:
    mine = trial()
    training = Training(mine)
    training.trainer.fit(training.train, training.held_out, until=epochs(1))
    inputs, wanted = training.train.dataset[:]
    training.model.eval()
    with torch.no_grad():
        error = float(torch.nn.functional.mse_loss(training.model(inputs), wanted))
    assert mine.validated[5]["error"] == pytest.approx(error, rel=1e-5)
    assert mine.validated[5]["samples"] == pytest.approx((16 * 16 + 16 * 16 + 8 * 8) / 40)


@pytest.mark.parametrize("cut", [5, 7])
@pytest.mark.parametrize(
    "options", [{"scheduled": True}, {"precision": "fp16"}, {"accumulate": 2, "clip_norm": 0.1}]
)
def test_a_resumed_training_is_the_unbroken_one_to_the_last_bit(
    trial: Callable[..., Remembering], cut: int, options: dict[str, Any]
) -> None:
    """Stopped at an epoch's end or in its middle; dropout, momentum and the order of samples go on where they were."""
    unbroken = Training(trial("unbroken"), **options)
    unbroken.trainer.fit(unbroken.train, until=batches(12))
    stopped = trial("stopped", stop_at=cut + 1)  # it asks before the first batch too
    before = Training(stopped, **options)
    before.trainer.fit(before.train, until=batches(12))
    assert stopped.saved == [cut]
    assert not torch.equal(before.weights(), unbroken.weights())
    after = Training(trial("after", latest_checkpoint=stopped.folder / str(cut)), **options)
    after.trainer.fit(after.train, until=batches(12))
    assert torch.equal(after.weights(), unbroken.weights())
    assert after.trainer.progress == unbroken.trainer.progress


def test_a_batch_in_several_passes_is_the_same_batch(trial: Callable[..., Remembering]) -> None:
    runs = []
    for passes in (1, 3):
        training = Training(trial(str(passes)), accumulate=passes)
        for part in training.model:
            if isinstance(part, nn.Dropout | nn.BatchNorm1d):
                part.eval()
                part.train = lambda mode=True, part=part: part  # type: ignore[method-assign]
        training.trainer.fit(training.train, until=batches(7))
        runs.append(training.weights())
    assert torch.allclose(runs[0], runs[1], atol=1e-5)


def test_gradients_are_clipped_and_a_narrow_type_trains(trial: Callable[..., Remembering]) -> None:
    start = Training(trial("start")).weights()
    clipped = Training(trial("clipped"), clip_norm=1e-6)
    clipped.trainer.fit(clipped.train, until=batches(1))
    moved = (clipped.weights() - start)[: 4 * 8]
    assert 0 < float(moved.norm()) <= 0.1 * 1e-6 * 1.01
    narrow = trial("narrow")
    training = Training(narrow, lr=0.01, precision="bf16")
    training.trainer.fit(training.train, training.held_out, until=epochs(6))
    assert narrow.validated[30]["error"] < narrow.validated[5]["error"]


def test_a_copy_with_other_hyperparameters_keeps_its_own_settings(trial: Callable[..., Remembering]) -> None:
    first = trial("first", hparams={"lr": 0.1})
    training = Training(first)
    training.trainer.fit(training.train, until=batches(3))
    latest = first.folder / "3"
    same = Training(trial("same", latest_checkpoint=latest, hparams={"lr": 0.1}), lr=0.5)
    same.trainer.fit(same.train, until=batches(3))
    copy = Training(trial("copy", latest_checkpoint=latest, hparams={"lr": 0.5}), lr=0.5)
    copy.trainer.fit(copy.train, until=batches(3))
    assert (same.optimizer.param_groups[0]["lr"], copy.optimizer.param_groups[0]["lr"]) == (0.1, 0.5)
    assert torch.equal(copy.weights(), training.weights())


def test_a_further_fit_goes_on_where_the_last_one_came_to(trial: Callable[..., Remembering]) -> None:
    """Also in a run that was started again: each of them finds its own part done, or goes on in the middle of it."""
    unbroken = Training(trial("unbroken"), lr=0.01)
    unbroken.trainer.fit(unbroken.train, until=batches(12))
    mine = trial("parts")
    parts = Training(mine, lr=0.01)
    parts.trainer.fit(parts.train, until=batches(7))
    parts.trainer.fit(parts.train, until=batches(12), checkpoint_every=batches(9))
    assert mine.saved == [7, 9, 12]
    assert torch.equal(parts.weights(), unbroken.weights())
    later = trial("later", latest_checkpoint=mine.folder / "9")
    again = Training(later, lr=0.01)
    again.trainer.fit(again.train, until=batches(7))
    assert (again.trainer.progress.step, later.saved) == (9, [])
    again.trainer.fit(again.train, until=batches(12))
    assert later.saved == [12]
    assert torch.equal(again.weights(), unbroken.weights())


def test_a_trial_has_one_trainer(trial: Callable[..., Remembering]) -> None:
    mine = trial()
    first, second = Training(mine), Training(mine)
    first.trainer.fit(first.train, until=batches(1))
    with pytest.raises(Rejected, match="is already trained by"):
        second.trainer.fit(second.train, until=batches(1))


def test_an_epoch_whose_rest_was_left_out_is_validated_too(trial: Callable[..., Remembering]) -> None:
    """More ranks than its last batch has samples: seen by the place alone, which is beyond what they can share."""
    mine = trial()
    training = Training(mine)
    training.trainer.fit(training.train, until=batches(3), checkpoint_every=batches(3))
    state = torch.load(mine.folder / "3" / "state.pt")
    state["parts"]["data"] = {"epoch": 0, "batch": 5}
    torch.save(state, mine.folder / "3" / "state.pt")
    after = trial("after", latest_checkpoint=mine.folder / "3")
    resumed = Training(after)
    resumed.trainer.fit(resumed.train, resumed.held_out, until=batches(9), validate_every=epochs(1))
    assert list(after.validated) == [4, 8, 9]
    assert after.validated[4]["epochs"] == 1.0


def test_steps_may_be_methods_of_a_subclass(trial: Callable[..., Remembering]) -> None:
    class Mine(Trainer):
        def train_step(self, model: nn.Module, batch: Batch) -> dict[str, torch.Tensor]:
            return {"loss": train_step(model, batch), "twice": 2 * train_step(model, batch)}

    mine = trial()
    training = Training(mine)
    Mine(cast(Trial, mine), training.model, training.optimizer).fit(
        training.train, until=batches(2), report_every=batches(1)
    )
    assert set(mine.reported[1]) == {"loss", "twice"}


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (None, "train_step is not defined"),
        (lambda model, batch: {"accuracy": torch.ones(())}, "accuracy, but no tensor named `loss`"),
    ],
)
def test_a_step_that_is_no_step_is_told(trial: Callable[..., Remembering], step: Any, says: str) -> None:
    training = Training(trial())
    with pytest.raises(Rejected, match=says):
        Trainer(cast(Trial, trial()), training.model, training.optimizer, step).fit(
            training.train, until=batches(1)
        )


@pytest.mark.parametrize("wrong", [{"precision": "fp8"}, {"accumulate": 0}])
def test_options_that_make_no_sense_are_refused(
    trial: Callable[..., Remembering], wrong: dict[str, Any]
) -> None:
    with pytest.raises(Rejected, match=r"fp8|accumulate must be at least 1"):
        Training(trial(), **wrong)
    with pytest.raises(Rejected, match="at least 1 of its epochs"):
        epochs(0)
    with pytest.raises(Rejected, match="4 times as large"):
        Training(trial(optimizations={"aggregation_frequency": 4}))
