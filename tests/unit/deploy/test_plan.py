"""`muster plan`: a pool as it stands, and what is printed."""

import json
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from deploy.plan.desk import Asked, answer
from deploy.plan.standing import standing_of
from muster.client.models import InstanceRecord, Pool, PoolRules, Worker
from muster.errors import Rejected

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = """
entrypoint: python3 train.py
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1}
searcher: {name: random, metric: loss, max_trials: 3}
"""
RULES = PoolRules.model_validate(
    {"order": "fair_share", "preemption": True, "elastic": False, "default_priority": 10, "half_life_s": 3600}
    | {"min_run_s": 5, "defragment": False}
)


def pool() -> Pool:
    facts = {"name": "gpus", "workers": 3, "slots": 10, "used_slots": 6, "waiting_slots": 0}
    return Pool.model_validate(facts | {"preemption": True, "exclusive": False, "rules": RULES})


def worker(name: str, slots: int, used: int, state: str = "ready") -> Worker:
    facts = {"id": name, "pool": "gpus", "state": state, "slots": slots, "used_slots": used}
    return Worker.model_validate(facts | {"slot_kind": "cuda", "isolated_user": True, "last_heard": NOW})


def instance(slots: int, price: float, pool: str = "gpus", ended: bool = False) -> InstanceRecord:
    facts = {
        "id": UUID(int=1),
        "pool": pool,
        "worker": "w",
        "driver": "aws",
        "state": "running",
        "slots": slots,
    }
    return InstanceRecord.model_validate(
        facts | {"price_per_hour": price, "ended_at": NOW if ended else None}
    )


WORKERS = [worker("a", 4, 4), worker("b", 4, 1), worker("c", 2, 0, state="draining")]


def test_what_is_free_on_machines_that_take_work_is_planned_with() -> None:
    found = standing_of(pool(), WORKERS, [instance(4, 8.0), instance(4, 0.0, ended=True)], is_whole=False)
    assert [(one.name, one.slots, one.kind) for one in found.cluster.machines] == [("b", 3, "cuda")]
    assert found.label == "pool gpus, the 3 free of its 8 slots on 1 machine"
    assert (found.policy.order, found.policy.half_life_h, found.cluster.exclusive) == (
        "fair_share",
        1.0,
        False,
    )
    assert found.price == 2.0, "8 an hour for four slots"
    whole = standing_of(pool(), WORKERS, [instance(4, 8.0, pool="others")], is_whole=True)
    assert (sum(one.slots for one in whole.cluster.machines), whole.price) == (8, None)


def test_machines_are_planned_with_as_they_are_labelled_and_without_those_that_are_excluded() -> None:
    workers = [
        worker("a", 4, 0).model_copy(update={"labels": {"gpu": "h100"}}),
        worker("b", 4, 0),
    ]
    found = standing_of(pool(), workers, [], is_whole=False, excluded=["b"])
    assert [(one.name, one.labels) for one in found.cluster.machines] == [("a", {"gpu": "h100"})]
    with pytest.raises(Rejected, match="none is free now on machines other than a, b"):
        standing_of(pool(), workers, [], is_whole=False, excluded=["a", "b"])


def test_a_full_pool_is_no_answer_but_a_reason() -> None:
    with pytest.raises(Rejected) as refused:
        standing_of(pool(), [worker("a", 4, 4)], [], is_whole=False)
    assert refused.value.code == "nothing_free" and "--whole" in str(refused.value.hint)


def asked(folder: Path, **changes: object) -> Asked:
    config, cluster = folder / "config.yaml", folder / "cluster.yaml"
    config.write_text(CONFIG)
    cluster.write_text("machines: [{slots: 2}]\n")
    facts: dict[str, object] = {"step_s": 60.0, "steps": 10, "price": 3.0, **changes}
    return Asked(config, (), cluster=cluster, pool=None, is_whole=False, futures=5, **facts)  # type: ignore[arg-type]


def test_it_says_trials_time_and_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(asked(tmp_path), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["trials"] == {"low": 3, "middle": 3, "high": 3}
    assert told["cost"]["middle"] == pytest.approx(3.0 * told["slot_hours"]["middle"])
    answer(asked(tmp_path), as_json=False)
    shown = capsys.readouterr().out
    assert "random with 1 slot a trial" in shown and "costs" in shown and "would end" in shown


def test_it_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer(asked(tmp_path, step_s=None), as_json=False)
    shown = capsys.readouterr().out
    assert "Give --step-time" in shown and "slot-hours  " not in shown
    with pytest.raises(Rejected) as refused:
        answer(asked(tmp_path, steps=None), as_json=False)
    assert refused.value.hint == "give --steps"
