"""The user's question: figures that can be worked out by hand come out so, and equal questions have equal answers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.files.schema import Cluster, Policy
from simulator.observers.measures import figures, jain
from simulator.run_workload import simulate
from simulator.simulate_command import Question, answer
from simulator.trials import PlainWork, WorkloadTrial

PRIORITY = Policy(order="priority", preemption=False, quantum_s=None, elastic=False)
EXAMPLES = Path(__file__).parents[2] / "examples" / "simulate"


def cluster(count: int = 1, slots: int = 4, **more: object) -> Cluster:
    return Cluster.model_validate({"machines": [{"count": count, "slots": slots}], **more})


def item(name: str, length_s: int, slots: int = 4, **more: object) -> WorkloadTrial:
    made = WorkloadTrial(name, 0, PlainWork(length_s * 1000, slots), slots, slots, launch_ms=0, stop_ms=0)
    return replace(made, **more)  # type: ignore[arg-type]


def test_two_trials_on_one_machine_run_one_after_the_other() -> None:
    answered = simulate(PRIORITY, cluster(), [item("a", 100), item("b", 50)])
    a, b = answered.served
    assert (round(a.waited_s), round(a.took_s)) == (0, 100)
    assert (round(b.waited_s), round(b.took_s)) == (100, 150)
    result = answered.result
    assert result.makespan_s == pytest.approx(150, abs=0.1)
    assert result.utilisation == pytest.approx(1.0, abs=0.001)
    assert result.outcomes == {"completed": 2}


def test_in_a_window_others_wait_and_the_holder_starts_at_once() -> None:
    site = cluster(reservations=[{"holder": "class", "slots": 4, "until_h": 1}])
    own = item("own", 100, tenant="class", arrives_ms=600_000)
    answered = simulate(PRIORITY, site, [item("other", 100, tenant="lab"), own])
    other, booked = answered.served
    assert round(booked.waited_s) == 0
    assert 3600 <= other.waited_s <= 3620


def test_a_smaller_trial_does_not_delay_the_next_in_line() -> None:
    answered = simulate(
        PRIORITY, cluster(), [item("large", 100, 3), item("next", 100, 4), item("small", 10, 1)]
    )
    assert [round(one.waited_s) for one in answered.served] == [0, 100, 200]


def test_trials_that_take_half_a_slot_run_beside_each_other() -> None:
    halves = [item(name, 100, 1, fraction=500) for name in ("a", "b", "c")]
    answered = simulate(PRIORITY, cluster(slots=1), halves)
    assert [round(one.waited_s) for one in answered.served] == [0, 0, 100]
    assert answered.result.utilisation == pytest.approx(0.75, abs=0.001)


def test_a_machine_that_fails_costs_work_since_the_last_checkpoint_only() -> None:
    work = item("long", 20_000, checkpoint_ms=600_000)
    answered = simulate(PRIORITY, cluster(failures={"every_h": 1, "away_min": 5}), [work], seed=3)
    lost, took_s = answered.result.lost_runs, answered.served[0].took_s
    assert lost > 0 and answered.served[0].runs == lost + 1
    assert 20_000 + lost * 300 <= took_s <= 20_000 + lost * (300 + 600 + 5)


def test_equal_questions_have_equal_answers_and_invariants_change_nothing() -> None:
    items = [item(f"t{n}", 10 + n % 7, 1 + n % 4, arrives_ms=n * 900, tenant=f"x{n % 3}") for n in range(80)]
    failing = cluster(3, failures={"every_h": 0.1, "away_min": 0.5})
    asked = [
        simulate(PRIORITY, failing, items, seed, is_checked=checked)
        for seed, checked in ((1, False), (1, True), (2, False))
    ]
    digests = [one.result.digest for one in asked]
    assert digests[0] == digests[1] != digests[2]


def test_a_tenant_at_its_maximum_waits_beside_free_slots() -> None:
    limited = cluster(2, quotas={"a": {"maximum": 4}})
    items = [item("one", 100, tenant="a"), item("two", 100, tenant="a"), item("three", 10, tenant="b")]
    assert [round(one.waited_s) for one in simulate(PRIORITY, limited, items).served] == [0, 100, 0]


def test_an_important_trial_takes_slots_and_the_other_goes_on_where_it_was() -> None:
    items = [item("long", 1000, priority=50), item("urgent", 100, priority=1, arrives_ms=200_000)]
    answered = simulate(PRIORITY.model_copy(update={"preemption": True}), cluster(), items)
    long, urgent = answered.served
    assert answered.result.preemptions == 1 and long.runs == 2
    assert urgent.waited_s < 1 and long.took_s == pytest.approx(1100, abs=2)


def test_time_that_is_over_ends_the_play() -> None:
    answered = simulate(PRIORITY, cluster(), [item("a", 100), item("b", 50)], until_s=120)
    assert not answered.result.is_complete and [one.name for one in answered.served] == ["a"]


def test_the_examples_play_and_print_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lines = tmp_path / "trials.csv"
    question = Question(
        EXAMPLES / "cluster.yaml", EXAMPLES / "workload.csv", ("priority",), 0, None, lines, is_checked=True
    )
    answer(question, as_json=True)
    assert json.loads(capsys.readouterr().out)["priority"]["trials"] == 5
    assert len(lines.read_text().splitlines()) == 6
    answer(question, as_json=False)
    assert "utilisation" in capsys.readouterr().out


def test_rented_machines_are_paid_from_order_to_end() -> None:
    provider = {"slots": 4, "maximum": 2, "price_per_hour": 6.0, "boot_s": 0, "idle_timeout_s": 60}
    rented = Cluster.model_validate({"provider": provider})
    result = simulate(PRIORITY, rented, [item("a", 1800), item("b", 1800)], is_checked=True).result
    assert result.rented is not None
    assert (result.rented.machines, result.rented.most) == (2, 2)
    assert result.rented.machine_hours == pytest.approx(1.0, abs=0.02)
    assert result.rented.cost == pytest.approx(6.0, abs=0.1)
    assert result.utilisation > 0.95


def test_percentiles_and_fairness() -> None:
    assert figures([4.0, 1.0, 3.0, 2.0]).p50_s == 2.0 and figures([4.0, 1.0, 3.0, 2.0]).p99_s == 4.0
    assert figures([]).average_s == 0.0
    assert jain([1.0, 1.0, 1.0]) == 1.0 and jain([1.0, 0.0, 0.0, 0.0]) == 0.25


def test_a_pool_that_lends_shrinks_for_who_comes_and_a_live_resize_costs_what_is_said() -> None:
    def took(resize_ms: int | None, is_elastic: bool = True) -> tuple[float, int, float]:
        long = replace(item("long", 1000, 4), min_slots=1, launch_ms=30_000, resize_ms=resize_ms)
        short = replace(item("short", 100, 2), arrives_ms=300_000)
        answered = simulate(
            PRIORITY.model_copy(update={"elastic": is_elastic}), cluster(), [long, short], is_checked=True
        )
        first, second = answered.served
        return first.took_s, answered.result.resizes, second.waited_s

    alone_s, resizes, waited_s = took(None, is_elastic=False)
    assert resizes == 0
    assert alone_s == pytest.approx(1030, abs=1) and waited_s == pytest.approx(730, abs=2)
    restarted, live = took(None), took(500)
    assert restarted[1] >= 1 and live[1] >= 1, "it made room"
    assert restarted[2] < 5 and live[2] < 5
    assert live[0] < restarted[0] - 25
