"""The table of an experiment's trials: filters, orders, pages and what counts of the points."""

import math
from typing import Any

import pytest

from muster.errors import Rejected
from shared.ids import ExperimentId, new_id
from shared.messages.experiments import TrialChanged
from shared.messages.exports import ExportTable
from shared.messages.trial_tables import DeclaredColumns, GetColumns, GetTable, TablePage
from tests.integration.registry.messages import report, validation, wanted
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")

POINTS: tuple[dict[str, Any], ...] = (
    {"lr": 0.1, "optimizer": {"name": "adam"}},
    {"lr": 0.01, "optimizer": {"name": "sgd", "momentum": 0.9}},
    {"lr": 0.001, "optimizer": {"name": "adam"}, "nesterov": True},
    {"lr": "auto", "optimizer": {"name": "lion"}},
)
ACCURACY = (0.5, 0.9, 0.7, math.nan)


@pytest.fixture(scope="module")
async def runs(around: Platform, registry: object) -> list[Run]:
    """An experiment of four trials, of which the last has no finite accuracy, and none is over but the second."""
    experiment = ExperimentId(new_id(CLOCK))
    runs = [around.scheduler.grant(experiment=experiment) for _ in POINTS]
    for number, (run, point, reached) in enumerate(zip(runs, POINTS, ACCURACY, strict=True)):
        spec = {"trial_number": number, "metric": "accuracy", "smaller_is_better": False}
        await around.publish("searcher", wanted(run, hyperparameters=point, **spec))
        await around.publish("searcher", _changed(run, number, "completed" if number == 1 else "running"))
        await around.reports(
            run, 1, [validation(1, 10, accuracy=reached / 2), validation(2, 20, accuracy=reached)]
        )
        await around.reports(run, 3, [report(20, group="training", **{"loss/a": 3.0 - number})])

    async def are_known() -> bool:
        found = await around.ask(GetTable(experiment_id=experiment, filter="state is not absent"))
        return len(found.rows) == len(POINTS)

    await eventually(are_known)
    return runs


@pytest.mark.parametrize(
    ("filter_", "numbers"),
    [
        ("hparams.lr < 0.05", [1, 2]),
        ("hparams.lr = auto", [3]),
        ("hparams.lr != 0.1", [1, 2]),
        ("hparams.optimizer.name in (adam, lion) and not hparams.lr = auto", [0, 2]),
        ("hparams.optimizer.momentum is absent", [0, 2, 3]),
        ("hparams.nesterov = true", [2]),
        ("hparams.optimizer.name contains da", [0, 2]),
        ("best > 0.6", [1, 2]),
        ("best is absent", [3]),
        ("metrics.validation.accuracy.count = 2", [0, 1, 2, 3]),
        ("metrics.validation.accuracy.last_step >= 20 and metrics.training.loss/a < 2", [2, 3]),
        ("metrics.validation.accuracy.mean < 0.5", [0]),
        ("state = completed or number = 0", [0, 1]),
        ('created > "2020-01-01" and created < "2021-01-01"', []),
        ('hparams.optimizer.name = "\' OR 1=1; DROP TABLE registry.trial; --"', []),
    ],
)
async def test_filters_choose_rows(
    around: Platform, runs: list[Run], filter_: str, numbers: list[int]
) -> None:
    page = await around.ask(GetTable(experiment_id=runs[0].experiment, filter=filter_))
    assert isinstance(page, TablePage)
    assert ([row.number for row in page.rows], page.total) == (numbers, len(numbers))


@pytest.mark.parametrize(
    ("sort", "numbers"),
    [
        ("", [0, 1, 2, 3]),
        ("-number", [3, 2, 1, 0]),
        ("best", [1, 2, 0, 3]),
        ("-best", [0, 2, 1, 3]),
        ("hparams.optimizer.name, -metrics.training.loss/a.last", [0, 2, 3, 1]),
        ("hparams.optimizer.momentum", [1, 0, 2, 3]),
        ("-hparams.nesterov, state, hparams.lr", [2, 1, 3, 0]),
    ],
)
async def test_pages_go_on_where_the_one_before_ended(
    around: Platform, runs: list[Run], sort: str, numbers: list[int]
) -> None:
    seen, after = [], None
    while True:
        page = await around.ask(GetTable(experiment_id=runs[0].experiment, sort=sort, after=after, limit=1))
        seen += [row.number for row in page.rows]
        after = page.next
        if after is None:
            break
    assert seen == numbers


async def test_cells_are_what_trials_have(around: Platform, runs: list[Run]) -> None:
    columns = (
        "state",
        "hparams.optimizer",
        "hparams.lr",
        "best",
        "metrics.training.loss/a",
        "runs",
        "invalid",
    )
    found = await around.ask(
        GetTable(experiment_id=runs[0].experiment, columns=columns, sort="-number", limit=3)
    )
    assert found.columns == columns
    assert [row.cells for row in found.rows] == [
        ("running", {"name": "lion"}, "auto", "NaN", 0.0, 1, False),
        ("running", {"name": "adam"}, 0.001, 0.7, 1.0, 1, False),
        ("completed", {"name": "sgd", "momentum": 0.9}, 0.01, 0.9, 2.0, 1, False),
    ]
    assert [row.trial_id for row in found.rows] == [run.trial for run in reversed(runs[1:])]
    told = (await around.ask(GetTable(experiment_id=runs[0].experiment))).columns
    assert told == (
        *("hparams.lr", "hparams.nesterov", "hparams.optimizer.momentum", "hparams.optimizer.name"),
        *(f"metrics.validation.accuracy.{stat}" for stat in ("last_step", "last", "best")),
    )


async def test_names_that_no_trial_has_are_told_from_those_there_are(
    around: Platform, runs: list[Run]
) -> None:
    known = await around.ask(GetColumns(experiment_id=runs[0].experiment))
    assert {"hparams.lr", "metrics.training.loss/a", "metrics.validation.accuracy"} <= set(known.columns)
    for question, place, hint in (
        (
            GetTable(experiment_id=runs[0].experiment, filter="hparams.rl > 1"),
            "filter",
            "did you mean 'hparams.lr'?",
        ),
        (
            GetTable(experiment_id=runs[0].experiment, sort="metrics.validation.acuracy.max"),
            "sort",
            "did you mean 'metrics.validation.accuracy'?",
        ),
    ):
        with pytest.raises(Rejected) as refused:
            await around.ask(question)
        assert (refused.value.code, refused.value.place) == ("unknown_name", place)
        assert hint in (refused.value.hint or "")


DECLARED = DeclaredColumns(
    metric="loss",
    validation_metrics=("loss", "latency_ms"),
    hyperparameters=(("lr",), ("optimizer", "beta")),
)


async def test_what_the_config_declares_is_empty_until_a_trial_reports_it(around: Platform) -> None:
    runs = await _training(around)
    for sort in ("best", "-metrics.validation.latency_ms.max", "hparams.optimizer.beta"):
        page = await around.ask(
            GetTable(
                experiment_id=runs[0].experiment,
                sort=sort,
                columns=("best", "metrics.validation.latency_ms", "hparams.optimizer"),
                declared=DECLARED,
            )
        )
        assert [(row.number, row.cells) for row in page.rows] == [(0, (None,) * 3), (1, (None,) * 3)]
    known = await around.ask(GetColumns(experiment_id=runs[0].experiment, declared=DECLARED))
    assert {"metrics.validation.loss", "metrics.training.loss", "hparams.optimizer.beta"} <= set(
        known.columns
    )
    await around.reports(runs[1], 2, [validation(1, 20, loss=0.5)])
    question = GetTable(experiment_id=runs[0].experiment, sort="best", columns=("best",), declared=DECLARED)
    assert [row.number for row in (await around.ask(question)).rows] == [1, 0]


async def test_what_is_neither_declared_nor_reported_is_refused_with_what_there_is(around: Platform) -> None:
    runs = await _training(around)
    unheard = ExperimentId(new_id(CLOCK))
    for experiment, there in ((runs[0].experiment, "metrics.training.loss, "), (unheard, "")):
        asked = {"experiment_id": experiment, "sort": "metrics.validation.los", "declared": DECLARED}
        for question in (GetTable(**asked), ExportTable(**asked)):
            with pytest.raises(Rejected) as refused:
                await around.ask(question)
            assert (refused.value.code, refused.value.place) == ("unknown_name", "sort")
            assert "'metrics.validation.los', and its config does not declare it" in str(refused.value)
            assert refused.value.hint == (
                f"did you mean 'metrics.validation.loss'? known names: {there}metrics.validation.latency_ms, metrics.validation.loss"
            )


async def _training(around: Platform) -> list[Run]:
    """Two trials of an experiment that have reported training metrics, and no validation."""
    experiment = ExperimentId(new_id(CLOCK))
    runs = [around.scheduler.grant(experiment=experiment) for _ in range(2)]
    for number, run in enumerate(runs):
        await around.publish("searcher", wanted(run, trial_number=number, metric="loss"))
        await around.reports(run, 1, [report(10, group="training", loss=1.0)])

    async def are_known() -> bool:
        return len((await around.ask(GetTable(experiment_id=experiment))).rows) == len(runs)

    await eventually(are_known)
    return runs


async def test_what_is_no_finite_number_is_told_from_what_is_not_there(
    around: Platform, runs: list[Run]
) -> None:
    columns = "metrics.validation.accuracy.last", "hparams.nesterov"
    page = await around.ask(GetTable(experiment_id=runs[0].experiment, columns=columns, sort="number"))
    assert [row.cells for row in page.rows] == [(0.5, None), (0.9, None), (0.7, True), ("NaN", None)]


async def test_another_tenant_sees_neither_trials_nor_names(around: Platform, runs: list[Run]) -> None:
    experiment = runs[0].experiment
    assert (await around.ask(GetTable(experiment_id=experiment), OTHER_TENANT)).rows == ()
    assert not any(
        "." in name for name in (await around.ask(GetColumns(experiment_id=experiment), OTHER_TENANT)).columns
    )


async def test_steps_that_a_later_run_repeats_count_as_that_run_reports_them(around: Platform) -> None:
    first = around.scheduler.grant()
    await around.publish("searcher", wanted(first, metric="loss"))
    await around.reports(first, 1, [validation(step, step, loss=float(-step)) for step in range(1, 6)])
    again = around.scheduler.grant(first)
    # Its script takes no notice of the checkpoint, and neither does the registry hear of a restore.
    await around.reports(again, 1, [validation(step, step, loss=10.0 + step) for step in range(1, 4)])
    question = GetTable(
        experiment_id=first.experiment,
        columns=tuple(
            f"metrics.validation.loss.{stat}" for stat in ("count", "min", "max", "last", "last_step")
        ),
        filter="metrics.validation.loss.max > 12 and metrics.validation.loss.count < 6",
        sort="best",
    )

    async def is_known() -> bool:
        # Before the trial is heard of, nothing says what is best.
        return bool((await around.ask(question.model_copy(update={"sort": ""}))).rows)

    await eventually(is_known)
    assert (await around.ask(question)).rows[0].cells == (5, -5.0, 13.0, -5.0, 5)


def _changed(run: Run, number: int, state: Any) -> TrialChanged:
    return TrialChanged(
        trial_id=run.trial,
        experiment_id=run.experiment,
        version=1,
        number=number,
        state=state,
        hyperparameters={},
        seed=1,
        runs=1,
        created_at=CLOCK.now(),
    )
