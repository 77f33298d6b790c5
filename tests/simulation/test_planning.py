"""What an experiment would come to, before it is submitted."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from muster.config import load_config
from muster.errors import Rejected
from shared.ids import ExperimentId, TrialId, WorkerId
from shared.messages.plans import EarlierRun, ExperimentPlan, OutlookRequest
from simulator.files.schema import Cluster
from simulator.planning.experiment_simulation import basics_of, futures, understand
from simulator.planning.summary import summarize
from simulator.planning.worker_protocol import Question

FOUR_SLOTS = {"machines": [{"slots": 2, "count": 2}]}
ONE_MACHINE = {"machines": [{"slots": 2, "name": "w", "is_numbered": False}]}
SPACE = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}}
HALVING = {"name": "async_halving", "max_trials": 12, "num_rungs": 3, "time_metric": "step", "max_time": 27}


def question(searcher: dict[str, object], cluster: object = FOUR_SLOTS, **more: object) -> Question:
    config = {
        "entrypoint": "python3 train.py",
        "hyperparameters": more.pop("space", SPACE),
        "searcher": {"metric": "loss", **searcher},
        "resources": more.pop("resources", {"slots_per_trial": 2}),
    }
    document = load_config(config).model_dump(mode="json", by_alias=True)
    given = {"config": document, "cluster": cluster, "step_s": 60.0, "futures": 8, **more}
    return Question.model_validate(given)


def played(asked: Question, price: float | None = None) -> ExperimentPlan:
    play = understand(asked)
    return summarize("here", basics_of(play), list(futures(play)), asked.background_jobs, price, is_cut=False)


def run(number: int, lr: float, step_ms: int, epochs: int = 9, outcome: str = "completed") -> EarlierRun:
    """Granted a second after the one before, it began to train 5 s later and was gone 1 s after its last validation."""
    granted = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    began_ms = round(granted.timestamp() * 1000) + 5000
    took = timedelta(milliseconds=6000 + epochs * step_ms)
    return EarlierRun(
        trial_id=TrialId(UUID(int=number)),
        experiment_id=ExperimentId(UUID(int=7)),
        number=1,
        hyperparameters={"lr": lr},
        slots=2,
        granted_at=granted,
        ended_at=granted + took,
        outcome=outcome,
        times=tuple(float(epoch) for epoch in range(1, epochs + 1)),
        at_ms=tuple(began_ms + epoch * step_ms for epoch in range(1, epochs + 1)),
        values=tuple(1.0 / epoch + lr for epoch in range(1, epochs + 1)),
    )


EARLIER = tuple(run(number, lr, 2000) for number, lr in enumerate((1e-4, 1e-3, 1e-2, 1e-1)))


def test_a_search_without_stopping_costs_what_it_trains() -> None:
    asked = question({"name": "random", "max_trials": 6, "max_concurrent_trials": 2}, steps=30, futures=20)
    found = played(asked, price=2.0)
    assert (found.trials.low, found.trials.high, found.stopped.high) == (6, 6, 0)
    assert (found.steps.low, found.steps.high, found.rungs) == (180, 180, ())
    assert found.slot_hours and found.slot_hours.low < 6 < found.slot_hours.high
    assert found.cost and found.cost.middle == 2 * found.slot_hours.middle
    assert found.took_s and found.took_s.low < 3 * 1800 < found.took_s.high, (
        "two at a time, three after each other"
    )


def test_a_search_that_stops_trials_early_is_cheaper_and_the_same_question_has_the_same_answer() -> None:
    full = played(question({"name": "random", "max_trials": 12}, steps=27))
    found = played(question(HALVING))
    assert found.slot_hours and full.slot_hours and found.slot_hours.high < full.slot_hours.low
    assert found.stopped.low > 0 and found.steps.low < found.steps.high, "how much is not known"
    reached = [(rung.at, rung.trials.middle) for rung in found.rungs]
    assert [at for at, _ in reached] == [1, 6, 27] and reached[0][1] == 12
    assert reached[0][1] > reached[1][1] > reached[2][1]
    assert found == played(question(HALVING))


def test_without_a_step_time_there_is_no_time_to_tell() -> None:
    found = played(question({"name": "random", "max_trials": 1}, steps=5, step_s=None))
    assert (found.steps.middle, found.basis, found.step_s) == (5, "stated_model", None)
    assert found.slot_hours is None and found.took_s is None and found.cost is None


def test_earlier_trials_of_the_same_code_show_how_long_it_takes() -> None:
    one = {"name": "random", "max_trials": 4, "max_concurrent_trials": 1}
    found = played(question(one, step_s=None, earlier=EARLIER))
    assert (found.basis, found.earlier_runs, found.earlier_experiments) == ("earlier_trials", 4, 1)
    assert found.steps.middle == 36 and found.step_s == 2.0, "nine epochs each, as those before"
    assert found.took_s and found.took_s.low < 4 * 24 < found.took_s.high, "no two days are alike"
    assert found.took_s.middle == pytest.approx(4 * 24, rel=0.1), (
        "5 s before the first step, nine steps of 2 s, 1 s until the slots are free"
    )
    assert found.slot_hours and found.slot_hours.middle == pytest.approx(2 * 4 * 24 / 3600, rel=0.1)
    half = played(question(one, step_s=None, earlier=EARLIER, resources={"slots_per_trial": 1}))
    assert half.step_s == 4.0, "half the slots, twice the time"


def test_a_plan_begins_with_what_the_search_knows_of_earlier_experiments() -> None:
    ways = ((1e-1, 9000),) * 3 + ((1e-4, 100),) * 3
    slow_and_quick = tuple(run(number, lr, step_ms) for number, (lr, step_ms) in enumerate(ways))
    warm = {
        "name": "random",
        "max_trials": 1,
        "warm_start": {"experiments": [7], "best": 1},
        "sampler": "tpe",
    }
    known = [{"experiment": 7, "trial": 1, "point": {"lr": 1e-4}, "value": 0.1}]
    for lr, quickest, slowest in ((1e-4, 0, 20), (1e-1, 60, 130)):
        start = {"points": [{"lr": lr}], "known": known, "notes": ["so much"]}
        asked = question(warm, step_s=None, earlier=slow_and_quick, start=start, futures=3)
        found = played(asked)
        assert found.took_s and quickest < found.took_s.low and found.took_s.high < slowest
        assert found.notes == ("so much",)
    modelled = played(question(warm, steps=3, start={"points": [], "known": known}))
    assert "the 1 earlier trials" in modelled.notes[0], "a model's values are others than theirs"


def test_a_trial_goes_as_those_at_points_near_to_its_own_did() -> None:
    quick_and_slow = tuple(
        run(number, 10.0 ** (-4 + number / 4), 100 if number < 6 else 9000) for number in range(12)
    )
    for lr, quickest, slowest in ((1e-4, 0, 10), (0.05, 60, 130)):
        one = {"lr": lr}
        asked = question({"name": "single"}, space=one, step_s=None, earlier=quick_and_slow)
        found = played(asked)
        assert found.took_s and quickest < found.took_s.low <= found.took_s.high < slowest, lr
    spread = played(question({"name": "random", "max_trials": 1}, step_s=None, earlier=quick_and_slow))
    assert spread.took_s and spread.took_s.low < 10 < 80 < spread.took_s.high


def test_where_nobody_says_how_long_a_trial_trains_each_trains_as_long_as_those_near_to_it() -> None:
    """A larger batch has fewer steps, and longer ones."""
    small = tuple(run(number, 1e-4, 100, epochs=90) for number in range(3))
    large = tuple(run(number, 1e-1, 1000, epochs=9) for number in range(3, 6))
    one = {"name": "random", "max_trials": 20, "max_concurrent_trials": 1}
    found = played(question(one, step_s=None, earlier=(*small, *large)))
    assert found.took_s and found.took_s.middle == pytest.approx(20 * 15, rel=0.1)
    assert 20 * 9 < found.steps.low < found.steps.high < 20 * 90


def test_stopped_trials_are_carried_on_by_those_that_went_further() -> None:
    stopped = tuple(run(10 + number, lr, 2000, 1, "stopped") for number, lr in enumerate((2e-4, 2e-2)))
    asked = question({**HALVING, "max_time": 9}, step_s=None, earlier=(*EARLIER, *stopped))
    found = played(asked)
    assert [rung.at for rung in found.rungs] == [1, 2, 9] or found.rungs[-1].at == 9
    assert found.took_s is not None and found.took_s.middle > 0


def other(**changes: object) -> OutlookRequest:
    facts = {"tenant": 1, "experiment": 1, "priority": 42, "slots": 1, "min_slots": 1, "age_s": 100.0}
    return OutlookRequest.model_validate({**facts, **changes})


def test_it_waits_for_those_who_hold_the_slots_and_those_who_came_first() -> None:
    alone = {"searcher": {"name": "random", "max_trials": 1}, "cluster": ONE_MACHINE, "steps": 5}
    alone["policy"] = {"order": "priority", "preemption": False, "quantum_s": None, "elastic": False}
    searcher = alone.pop("searcher")
    assert isinstance(searcher, dict)
    held = {WorkerId("w"): 2}
    rest = (500.0,) * 5
    free = played(question(searcher, **alone))
    assert free.waits_s and free.waits_s.high < 1
    behind = played(
        question(searcher, background_jobs=(other(slots=2, min_slots=2, workers=held, rest_s=rest),), **alone)
    )
    assert behind.waits_s and 400 < behind.waits_s.middle <= 1000 and behind.others_running == 1
    queue = other(slots=2, min_slots=2, rest_s=rest, count=2, experiment=2)
    last = played(
        question(
            searcher, background_jobs=(other(slots=2, min_slots=2, workers=held, rest_s=rest), queue), **alone
        )
    )
    assert last.waits_s and last.waits_s.low > behind.waits_s.high and last.others_waiting == 2
    first = played(
        question(
            searcher,
            background_jobs=(other(slots=2, min_slots=2, workers=held, rest_s=rest), queue),
            resources={"slots_per_trial": 2, "priority": 1},
            **alone,
        )
    )
    assert first.waits_s and first.waits_s.middle < last.waits_s.middle, "it goes before those that wait"


def test_of_whom_nothing_is_known_is_said() -> None:
    asked = question({"name": "single"}, space={}, steps=5, background_jobs=(other(),))
    assert played(asked).notes and "1 other runs or requests" in played(asked).notes[0]


def test_what_a_tenant_may_hold_counts() -> None:
    limited = {**FOUR_SLOTS, "quotas": {"tenant 0": {"maximum": 2}}}
    asked = {"name": "random", "max_trials": 2}
    free, capped = (played(question(asked, cluster=one, steps=30)) for one in (FOUR_SLOTS, limited))
    assert free.took_s and capped.took_s and capped.took_s.low > 1.5 * free.took_s.middle


def test_machines_that_a_provider_brings_are_waited_for() -> None:
    provider = {"provider": {"slots": 2, "maximum": 2, "boot_s": 300, "kind": "cuda"}}
    found = played(question({"name": "random", "max_trials": 2}, cluster=provider, steps=5))
    assert found.waits_s and 200 < found.waits_s.middle < 500


def test_what_cannot_be_foretold_is_refused_with_the_reason() -> None:
    with pytest.raises(Rejected) as refused:
        played(question({"name": "random", "max_trials": 6}))
    assert (refused.value.code, refused.value.hint) == ("missing_key", "set --steps")
    with pytest.raises(Rejected) as refused:
        played(question({"name": "single"}, space={"lr": 0.1}, cluster={"machines": [{"slots": 1}]}, steps=5))
    assert refused.value.message == "a trial needs 2 slots; the cluster can have at most 1 in total"


def test_a_trial_for_machines_that_are_not_there_is_refused_and_never_waited_for() -> None:
    there = {"machines": [{"slots": 2, "name": "m", "labels": {"gpu": "h100"}}]}

    def on(**resources: object) -> ExperimentPlan:
        return played(
            question({"name": "single"}, space={}, cluster=there, steps=5, futures=1, resources=resources)
        )

    assert on(required_labels={"gpu": "h100"}).trials.middle == 1
    with pytest.raises(Rejected, match="the cluster can have at most 0 on machines with gpu=a100"):
        on(required_labels={"gpu": "a100"})
    with pytest.raises(Rejected, match="the cluster can have at most 0 on machines other than m-1"):
        on(excluded_workers=["m-1"])


def test_machines_are_named_as_they_are_where_they_are_not_numbered() -> None:
    cluster = Cluster.model_validate(ONE_MACHINE)
    assert [group.worker(0) for group in cluster.machines] == ["w"]
