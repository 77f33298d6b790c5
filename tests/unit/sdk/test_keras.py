"""Keras's own `fit` on PyTorch, with a trial that only remembers. Keras is imported by the tests: whoever collects them all need not."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from muster import Trial
from muster.errors import Rejected
from tests.unit.sdk.remembering import Remembering


@pytest.fixture(autouse=True)
def on_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "torch")


def fit(trial: Remembering, hidden: int = 0) -> Any:
    """Train three epochs of five batches."""
    import keras

    import muster.keras

    keras.utils.set_random_seed(3)
    inputs = np.random.default_rng(1).normal(size=(40, 4)).astype("float32")
    wanted = inputs.sum(1)
    mine = cast(Trial, trial)
    model = keras.Sequential([keras.layers.Dense(width) for width in (hidden, 1) if width])
    optimizer = muster.keras.distribute(mine, keras.optimizers.Adam(0.05))
    model.compile(optimizer=optimizer, loss="mse")
    callbacks = [muster.keras.MusterCallback(mine, report_every=2)]
    model.fit(
        inputs, wanted, batch_size=8, epochs=3, verbose=0, shuffle=False,
        validation_data=(inputs, wanted), callbacks=callbacks,
    )  # fmt: skip
    return model


def test_it_reports_validates_and_saves(tmp_path: Path) -> None:
    trial = Remembering(tmp_path)
    fit(trial)
    assert list(trial.reported) == [2, 4, 6, 8, 10, 12, 14]
    assert set(trial.reported[2]) == {"loss"}
    assert list(trial.validated) == trial.saved == [5, 10, 15]
    assert set(trial.validated[5]) == {"epochs", "val_loss"}
    assert trial.validated[15]["val_loss"] < trial.validated[5]["val_loss"]


def test_it_stops_at_an_epochs_end_and_goes_on_as_the_unbroken_one(tmp_path: Path) -> None:
    whole = fit(Remembering(tmp_path / "whole"))
    stopped = Remembering(tmp_path / "stopped", stop_at=6)
    fit(stopped)
    assert stopped.saved == [5]
    resumed = Remembering(tmp_path / "resumed", latest_checkpoint=tmp_path / "stopped" / "5")
    model = fit(resumed)
    assert list(resumed.validated) == resumed.saved == [10, 15]
    assert all((a == b).all() for a, b in zip(model.get_weights(), whole.get_weights(), strict=True))


def test_within_an_epoch_it_saves_what_it_learnt_and_begins_the_epoch_again(tmp_path: Path) -> None:
    stopped = Remembering(tmp_path / "stopped", stop_at=8)
    fit(stopped)
    assert stopped.saved == [5, 7] and list(stopped.validated) == [5]
    resumed = Remembering(tmp_path / "resumed", latest_checkpoint=tmp_path / "stopped" / "7")
    fit(resumed)
    assert list(resumed.validated) == [12, 17]
    assert resumed.validated[12]["epochs"] == 2


def test_a_checkpoint_of_another_model_is_told(tmp_path: Path) -> None:
    fit(Remembering(tmp_path), hidden=3)
    with pytest.raises(Rejected, match="do not match the script's model") as told:
        fit(Remembering(tmp_path / "other", latest_checkpoint=tmp_path / "5"))
    assert told.value.code == "checkpoint_mismatch"
    (tmp_path / "foreign").mkdir()
    with pytest.raises(Rejected, match=r"was not written by muster\.keras\.MusterCallback"):
        fit(Remembering(tmp_path / "third", latest_checkpoint=tmp_path / "foreign"))
