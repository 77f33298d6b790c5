"""Values that JSON has no word for: NaN and the infinities come beside the null that stands for them, and are one number again at the reader."""

import math
from datetime import UTC, datetime
from uuid import UUID

import pytest

from muster.cli.trials.render import measured, series_rows
from muster.client.metric_values import value_of
from muster.client.models import Checkpoint, TrialMetrics
from services.gateway.checkpoints.render import render_checkpoint
from services.gateway.metrics.render import render_series
from shared.ids import CheckpointId, ExperimentId, TrialId
from shared.messages.checkpoints import CheckpointView
from shared.messages.metrics import Series, SeriesPage, SeriesPoint

REPORTED = [0.5, math.nan, math.inf, -math.inf]


@pytest.fixture
def answer() -> str:
    points = tuple(
        SeriesPoint(step=step, time_ms=0, run_number=1, value=value) for step, value in enumerate(REPORTED)
    )
    one = Series(group="training", name="loss", count=len(points), points=points)
    page = SeriesPage(trial_id=TrialId(UUID(int=1)), series=(one,))
    return render_series(page).model_dump_json()


def test_the_reader_has_what_was_reported(answer: str) -> None:
    [series] = TrialMetrics.model_validate_json(answer).series
    values = [value_of(point) for point in series.points]
    assert [str(value) for value in values] == [str(value) for value in REPORTED]
    [row] = series_rows([series])
    assert row[2:6] == (4, -math.inf, 0.5, 0.5)


def test_what_is_finite_takes_no_more_room(answer: str) -> None:
    assert answer.count("not_finite") == 3
    assert '"value":0.5}' in answer and '"value":null,"not_finite":"nan"}' in answer


def test_a_checkpoint_leaves_out_none_of_its_metrics() -> None:
    view = CheckpointView(
        checkpoint_id=CheckpointId(UUID(int=1)),
        trial_id=TrialId(UUID(int=2)),
        experiment_id=ExperimentId(UUID(int=3)),
        run_number=1,
        step=5,
        state="saved",
        files=(),
        size_bytes=0,
        metrics={"loss": 0.5, "f1": math.nan, "norm": -math.inf},
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    answer = render_checkpoint(CheckpointView.model_validate_json(view.model_dump_json())).model_dump_json()
    assert measured(Checkpoint.model_validate_json(answer)) == "loss 0.5, f1 nan, norm -inf"
