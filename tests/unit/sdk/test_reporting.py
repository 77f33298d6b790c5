"""What a script may report, and in which group it stands: a trial without a platform prints it."""

from pathlib import Path

import pytest

from muster import wire
from muster._trial import Trial
from muster._trial.process_environment import load_process_environment
from muster._trial.worker_link.heartbeat import HeartbeatWriter
from muster.errors import Rejected


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    description = wire.TrialFile(
        socket="", size=1, hparams={}, seed=0, checkpoints=str(tmp_path), metric="loss"
    )
    return Trial(description, load_process_environment(), None, None, HeartbeatWriter("", 0))


def test_metrics_stand_in_the_group_that_the_script_names(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    losses = {"loss": 0.5}
    trial.report(1, **losses)
    trial.report(1, group="gradients", norm=2.0, group_size=3)
    trial.validate(1, loss=0.25)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["[muster]", "training", "step", "1", "loss=0.5"],
        ["[muster]", "gradients", "step", "1", "norm=2", "group_size=3"],
        ["[muster]", "validation", "step", "1", "loss=0.25"],
    ]


@pytest.mark.parametrize(
    ("group", "code"),
    [
        ("", "group_invalid"),
        (" ", "group_invalid"),
        ("a\nb", "group_invalid"),
        ("ä" * 129, "group_invalid"),
        (0.5, "group_invalid"),
        (["test"], "group_invalid"),
        ("validation", "group_reserved"),
        ("system", "group_reserved"),
        ("timing", "group_reserved"),
    ],
)
def test_a_group_that_is_no_name_or_the_platforms_own_is_refused(trial: Trial, group: str, code: str) -> None:
    with pytest.raises(Rejected) as refused:
        trial.report(1, group=group, loss=0.5)
    assert (refused.value.code, refused.value.place) == (code, "group")
