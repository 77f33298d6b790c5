"""Metrics as Arrow and Parquet: every point that counts, typed, in the order that is said, for whose they are."""

import hashlib
import io
import math
from typing import Any, Literal

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muster.errors import NotFound, Rejected
from services.registry.series.core.chunks import Columns, split, to_packed
from shared.ids import ExperimentId, new_id
from shared.messages.exports import Export, Exported, ExportMetrics, ExportTable
from tests.integration.registry.messages import report, validation, wanted
from tests.integration.registry.platform import OTHER_TENANT, Platform
from tests.integration.registry.scheduling import CLOCK, Run
from tests.support.waiting import eventually

MANY = 260_000
"""More than are read together."""

pytestmark = pytest.mark.usefixtures("registry")


@pytest.fixture(scope="module")
async def runs(around: Platform, registry: object) -> list[Run]:
    """Two trials, of which the second was rolled back to its beginning and reported a step again."""
    experiment = ExperimentId(new_id(CLOCK))
    first, rolled_back = (around.scheduler.grant(experiment=experiment) for _ in range(2))
    for number, run in enumerate((first, rolled_back)):
        await around.publish("searcher", wanted(run, trial_number=number))
        await around.reports(run, 1, [report(step, b=step / 2, a=math.nan) for step in (1, 2)])
        await around.reports(run, 3, [validation(1, 2, loss=-math.inf)])
    again = around.scheduler.grant(rolled_back)
    await around.restore(again)
    await around.reports(again, 1, [report(1, b=7.0)])
    await _numbered(around, experiment, 2)
    return [first, rolled_back]


@pytest.mark.parametrize("format", ["arrow", "parquet"])
async def test_all_points_that_count_are_written_in_order(
    around: Platform, runs: list[Run], format: Literal["arrow", "parquet"]
) -> None:
    exported = await written(around, ExportMetrics(experiment_id=runs[0].experiment, format=format))
    table = pa.concat_tables([await fetched(part, format) for part in exported.files])
    assert table.schema.types == [
        *(
            pa.int32(),
            pa.int32(),
            pa.string(),
            pa.string(),
            pa.int64(),
            pa.timestamp("ms", "UTC"),
            pa.float64(),
        )
    ]
    rows = [
        tuple(row[name] for name in ("trial", "run", "group", "name", "step")) for row in table.to_pylist()
    ]
    assert rows == [
        (0, 1, "training", "a", 1),
        (0, 1, "training", "a", 2),
        (0, 1, "training", "b", 1),
        (0, 1, "training", "b", 2),
        (0, 1, "validation", "loss", 2),
        (1, 2, "training", "b", 1),
    ]
    values = table.column("value").to_pylist()
    assert math.isnan(values[0]) and values[2:] == [0.5, 1.0, -math.inf, 7.0]
    assert table.column("value").null_count == 0 and exported.rows == 6
    assert table.column("time").to_pylist()[0].timestamp() == 1.001


async def test_one_metric_can_be_asked_for_and_nothing_makes_an_empty_file(
    around: Platform, runs: list[Run]
) -> None:
    question = ExportMetrics(experiment_id=runs[0].experiment, names=("b",), group="training")
    first = await written(around, question)
    assert first.rows == 3
    assert (await written(around, question)).export_id == first.export_id, "the same points are written once"
    empty = await written(around, ExportMetrics(experiment_id=ExperimentId(new_id(CLOCK))))
    assert (empty.rows, (await fetched(empty.files[0], "parquet")).num_rows) == (0, 0)


async def test_a_metric_of_very_many_points_is_written_stretch_by_stretch(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.publish("searcher", wanted(run, trial_number=3))
    await around.reports(run, 1, [report(1, loss=1.0)])
    await _numbered(around, run.experiment, 1)
    again = around.scheduler.grant(run)
    # Without a restore: of the steps that it reports again its own count.
    await around.reports(again, 1, [report(step, loss=-1.0) for step in (100_000, 255_000)])
    steps = np.arange(2, MANY + 1)
    day = CLOCK.now().date()
    chunks = split(Columns(steps, steps, steps, steps.astype(np.float64)))
    rows = zip(*((len(chunk), *chunk.span, to_packed(chunk)) for chunk in chunks), strict=True)
    await around.rows(
        "INSERT INTO registry.point_chunk (day, tenant, series, count, first_step, last_step, body)"
        " SELECT $1, s.tenant, s.id, c.* FROM registry.series s"
        " CROSS JOIN unnest($3::int[], $4::bigint[], $5::bigint[], $6::bytea[]) c WHERE s.run = $2",
        *(day, run.id, *map(list, rows)),
    )
    changed = "UPDATE registry.series SET count = $2, last_step = $2 WHERE run = $1"
    await around.rows(changed, run.id, MANY)
    exported = await written(around, ExportMetrics(experiment_id=run.experiment))
    table = await fetched(exported.files[0], "parquet")
    assert table.column("step").to_pylist() == list(range(1, MANY + 1))
    values = table.column("value").to_numpy()
    assert (values[99_999], values[254_999], values[-1]) == (-1.0, -1.0, float(MANY))


@pytest.mark.parametrize("format", ["arrow", "parquet"])
async def test_the_table_is_written_with_the_columns_and_trials_that_are_wanted(
    around: Platform, runs: list[Run], format: Literal["arrow", "parquet"]
) -> None:
    experiment = runs[0].experiment
    everything = await written(around, ExportTable(experiment_id=experiment, format=format))
    table = await fetched(everything.files[0], format)
    assert table.column_names == [
        "trial", "state", "invalid", "runs", "created", "ended", "best", "hparams.lr", "metrics.training.a.last",
        "metrics.training.b.last", "metrics.validation.loss.last",
    ]  # fmt: skip
    assert everything.rows == 2 and table.column("trial").to_pylist() == [0, 1]
    last = table.column("metrics.training.a.last")
    assert math.isnan(last[0].as_py()) and last.to_pylist()[1] is None, "NaN is no missing value"
    assert table.column("metrics.training.b.last").to_pylist() == [1.0, 7.0]
    columns = ("metrics.training.b.count", "hparams.lr")
    question = ExportTable(
        experiment_id=experiment,
        format=format,
        filter="metrics.training.b.last > 2",
        sort="-number",
        columns=columns,
    )
    some = await fetched((await written(around, question)).files[0], format)
    assert some.to_pylist() == [{"trial": 1, columns[0]: 1, columns[1]: 0.1}]


async def test_an_export_that_cannot_be_read_is_refused_at_once(around: Platform, runs: list[Run]) -> None:
    experiment = runs[0].experiment
    many = tuple(f"hparams.p{n}" for n in range(1_001))
    for question, code in (
        (ExportTable(experiment_id=experiment, filter="1=1; DROP TABLE registry.trial"), "bad_filter"),
        (ExportTable(experiment_id=experiment, columns=("hparams.typo",)), "unknown_name"),
        (ExportTable(experiment_id=experiment, columns=many), "columns_too_many"),
    ):
        with pytest.raises(Rejected) as refused:
            await around.ask(question)
        assert refused.value.code == code


async def test_another_tenant_gets_neither_points_nor_anothers_export(
    around: Platform, runs: list[Run]
) -> None:
    question = ExportMetrics(experiment_id=runs[0].experiment)
    mine = await written(around, question)
    theirs = await around.ask(question, OTHER_TENANT)
    assert theirs.rows == 0
    named = question.model_copy(update={"export_id": mine.export_id})
    assert (await around.ask(named, OTHER_TENANT)).rows == 0
    with pytest.raises(NotFound):
        await around.ask(named.model_copy(update={"names": ("b",)}))


async def _numbered(around: Platform, experiment: ExperimentId, trials: int) -> None:
    """Wait until the searcher's word on so many trials has come: what has no number is not exported."""

    async def are_numbered() -> bool:
        sql = "SELECT count(*) FROM registry.trial WHERE experiment = $1 AND number IS NOT NULL"
        return await around.count(sql, experiment) == trials

    await eventually(are_numbered)


async def written(around: Platform, question: Export) -> Exported:
    found: list[Exported] = []

    async def is_ready() -> bool:
        exported = await around.ask(question)
        found.append(exported)
        return bool(exported.is_ready)

    await eventually(is_ready)
    return found[-1]


async def fetched(file: Any, format: str) -> Any:
    async with httpx.AsyncClient() as http:
        content = (await http.get(file.url)).content
    assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size_bytes, file.sha256)
    if format == "parquet":
        return pq.read_table(io.BytesIO(content))
    return pa.ipc.open_stream(content).read_all()
