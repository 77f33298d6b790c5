"""What is restored is what was saved, and what later runs say counts from there."""

import hashlib

import pytest

from muster.errors import Rejected
from shared.ids import new_id
from shared.messages.metrics import CompareTrials, GetSeries, GetSummaries
from tests.integration.registry.messages import report, validation, wanted
from tests.integration.registry.platform import Platform
from tests.integration.registry.scheduling import CLOCK
from tests.integration.registry.uploads import FILES, events, fetch, save
from tests.support.waiting import eventually

pytestmark = pytest.mark.usefixtures("registry")


async def test_a_saved_checkpoint_is_what_the_next_run_goes_on_from(around: Platform) -> None:
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(step, loss=1.0) for step in range(1, 30)])
    await save(around, run, 1, 10)
    newest = await save(around, run, 2, 20)
    following = around.scheduler.grant(run)
    restored = await around.restore(following)
    assert (restored.checkpoint_id, restored.step) == (newest, 20)
    assert {link.path: await fetch(link.url) for link in restored.files} == FILES
    assert [link.sha256 for link in restored.files] == [
        hashlib.sha256(FILES[link.path]).hexdigest() for link in restored.files
    ]
    assert await around.count("SELECT superseded_after FROM registry.run WHERE id = $1", run.id) == 20
    assert await events(around, "saved", newest) == 1


async def test_a_step_that_a_later_run_reports_again_counts_once_as_the_later_says(around: Platform) -> None:
    """As a script does that takes no notice of its `latest_checkpoint`."""
    run = around.scheduler.grant()
    await around.reports(run, 1, [report(step, loss=100.0 + step, lr=0.1) for step in range(1, 20)])
    await save(around, run, 1, 14)
    following = around.scheduler.grant(run)
    assert (await around.restore(following)).step == 14
    await around.reports(following, 1, [report(step, loss=float(step)) for step in range(1, 6)])
    expected = [*((step, float(step), 2) for step in range(1, 6)), *((s, 100.0 + s, 1) for s in range(6, 15))]
    series = {one.name: one for one in (await around.ask(GetSeries(trial_id=run.trial))).series}
    assert [(p.step, p.value, p.run_number) for p in series["loss"].points] == expected
    assert (series["loss"].count, series["lr"].count) == (14, 14)
    compared = (await around.ask(CompareTrials(trials=(run.trial,), names=("loss",)))).trials[0].series[0]
    assert compared == series["loss"]
    summaries = {one.name: one for one in (await around.ask(GetSummaries(trial_id=run.trial))).metrics}
    loss, lr = summaries["loss"], summaries["lr"]
    assert (loss.count, loss.min, loss.max, loss.last, loss.last_step) == (14, 1.0, 114.0, 114.0, 14)
    assert loss.mean == pytest.approx(sum(value for _, value, _ in expected) / 14)
    assert (lr.count, lr.last_step) == (14, 14)
    await around.reports(following, 6, [report(step, loss=float(step)) for step in range(6, 31)])
    loss = next(
        one for one in (await around.ask(GetSummaries(trial_id=run.trial))).metrics if one.name == "loss"
    )
    assert (loss.count, loss.min, loss.max, loss.last, loss.last_step) == (30, 1.0, 30.0, 30.0, 30)


async def test_a_run_hears_what_was_best_in_all_that_it_goes_on_from(around: Platform) -> None:
    """Without what it makes again, and without what is no number; a trial that only starts from it begins anew."""
    run = around.scheduler.grant()
    await around.publish("searcher", wanted(run, smaller_is_better=False, metric="accuracy"))
    metrics = "SELECT count(*) FROM registry.trial WHERE id = $1 AND metric = 'accuracy'"

    async def is_known() -> bool:
        return bool(await around.count(metrics, run.trial))

    await eventually(is_known)
    found = {10: 0.5, 20: 0.7, 30: float("nan"), 40: 0.6, 50: 0.9}
    validations = [
        validation(number, step, accuracy=value) for number, (step, value) in enumerate(found.items(), 1)
    ]
    await around.reports(run, 1, validations)
    newest = await save(around, run, 1, 40)
    following = around.scheduler.grant(run)
    assert (await around.restore(following)).best == 0.7
    assert (await around.restore(following)).best == 0.7
    [told] = await around.emitted("validation.superseded", trial_id=run.trial)
    assert (told["run_number"], told["step"]) == (2, 40)
    assert told["current"] == [
        {"step": step, "values": {"accuracy": value}} for step, value in ((20, 0.7), (40, 0.6), (10, 0.5))
    ]
    assert (await around.restore(around.scheduler.grant(start_checkpoint=newest))).best is None


async def test_every_member_and_every_repeat_restores_the_same(around: Platform) -> None:
    first = around.scheduler.grant()
    checkpoint = await save(around, first, 1, 10)
    run = around.scheduler.grant(first)
    assert (await around.restore(run)).checkpoint_id == checkpoint
    await save(around, run, 1, 20)
    assert (await around.restore(run)).checkpoint_id == checkpoint
    nothing = around.scheduler.grant()
    assert (await around.restore(nothing)).checkpoint_id is None
    await save(around, nothing, 1, 5)
    assert (await around.restore(nothing)).checkpoint_id is None


async def test_a_trial_without_checkpoints_starts_from_the_one_it_was_given(around: Platform) -> None:
    source = around.scheduler.grant()
    checkpoint = await save(around, source, 1, 30)
    run = around.scheduler.grant(start_checkpoint=checkpoint)
    restored = await around.restore(run)
    assert (restored.checkpoint_id, restored.step) == (checkpoint, 30)
    lost = around.scheduler.grant(start_checkpoint=new_id(CLOCK))
    with pytest.raises(Rejected) as error:
        await around.restore(lost)
    assert error.value.code == "start_checkpoint_gone"


async def test_a_copy_starts_from_another_checkpoint_of_its_source_where_its_own_is_spoilt(
    around: Platform,
) -> None:
    source = around.scheduler.grant()
    good, spoilt = await save(around, source, 1, 30), await save(around, source, 2, 40)
    await around.rows("UPDATE registry.checkpoint SET state = 'corrupt' WHERE id = $1", spoilt)
    copy = around.scheduler.grant(start_checkpoint=spoilt, experiment=source.experiment)
    restored = await around.restore(copy)
    assert (restored.checkpoint_id, restored.step) == (good, 30)
    elsewhere = around.scheduler.grant(start_checkpoint=spoilt)
    with pytest.raises(Rejected, match="corrupt"):
        await around.restore(elsewhere)
