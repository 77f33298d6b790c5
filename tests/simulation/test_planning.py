"""What an experiment would come to, before it is submitted."""

import pytest

from muster.config import load_config
from muster.errors import Rejected
from simulator.files.schema import Cluster, Policy
from simulator.planning import Prediction, Question, predict

FOUR_SLOTS = Cluster.model_validate({"machines": [{"slots": 2, "count": 2}]})


def question(searcher: dict[str, object], steps: int | None = None, step_s: float | None = 60.0) -> Question:
    config = load_config(
        {
            "entrypoint": "python3 train.py",
            "hyperparameters": {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}},
            "searcher": {"metric": "loss", **searcher},
            "resources": {"slots_per_trial": 2},
        }
    )
    return Question(config, FOUR_SLOTS, Policy(), steps, step_s, launch_s=0)


def played(asked: Question, futures: int = 8) -> Prediction:
    return predict(asked, range(futures), lambda done: True)


def test_a_search_without_stopping_costs_what_it_trains():
    found = played(question({"name": "random", "max_trials": 6, "max_concurrent_trials": 2}, steps=30), 20)
    assert (found.trials.low, found.trials.high, found.stopped.high) == (6, 6, 0)
    assert (found.steps.low, found.steps.high) == (180, 180)
    assert found.slot_hours and found.slot_hours.low < 6 < found.slot_hours.high
    assert found.took_s and found.took_s.low < 3 * 1800 < found.took_s.high, (
        "two at a time, three after each other"
    )


def test_a_search_that_stops_trials_early_is_cheaper_and_the_same_question_has_the_same_answer():
    stopping = {
        "name": "async_halving",
        "max_trials": 12,
        "num_rungs": 3,
        "time_metric": "step",
        "max_time": 27,
    }
    full = played(question({"name": "random", "max_trials": 12}, steps=27))
    found = played(question(stopping))
    assert found.slot_hours and full.slot_hours and found.slot_hours.high < full.slot_hours.low
    assert found.stopped.low > 0 and found.steps.low < found.steps.high, "how much is not known"
    assert found == played(question(stopping))


def test_without_a_step_time_there_is_no_time_to_tell():
    found = played(question({"name": "random", "max_trials": 1}, steps=5, step_s=None))
    assert found.steps.middle == 5 and found.slot_hours is None and found.took_s is None


def test_it_ends_early_with_the_futures_that_it_has():
    found = predict(question({"name": "random", "max_trials": 1}, steps=5), range(100), lambda done: done < 3)
    assert found.futures == 3


def test_what_cannot_be_foretold_is_refused_with_the_reason():
    with pytest.raises(Rejected) as refused:
        played(question({"name": "random", "max_trials": 6}))
    assert (refused.value.code, refused.value.hint) == ("missing_key", "give --steps")
    small = Cluster.model_validate({"machines": [{"slots": 1}]})
    asked = question({"name": "random", "max_trials": 1}, steps=5)
    with pytest.raises(Rejected) as refused:
        played(Question(asked.config, small, asked.policy, asked.steps))
    assert refused.value.message == "a trial needs 2 slots; there is 1 in all"


def on(machines: list[dict[str, object]], **resources: object) -> Prediction:
    config = load_config(
        {
            "entrypoint": "python3 train.py",
            "searcher": {"name": "single", "metric": "loss"},
            "resources": resources,
        }
    )
    cluster = Cluster.model_validate({"machines": machines})
    return played(Question(config, cluster, Policy(), steps=5, step_s=1.0), 1)


def test_a_trial_for_machines_that_are_not_there_is_refused_and_never_waited_for():
    there: list[dict[str, object]] = [{"slots": 2, "name": "m", "labels": {"gpu": "h100"}}]
    assert on(there, required_labels={"gpu": "h100"}).trials.middle == 1
    with pytest.raises(Rejected, match="there are 0 on machines with gpu=a100"):
        on(there, required_labels={"gpu": "a100"})
    with pytest.raises(Rejected, match="there are 0 on machines other than m-1"):
        on(there, excluded_workers=["m-1"])
