"""`muster plan` as it is read."""

import pytest

from muster.cli.experiments.plan import show
from muster.client.models import Plan

RANGE = {"low": 1.0, "middle": 2.0, "high": 3.0}
PLAN = {
    "on": "pool gpus, 8 slots on 2 machines",
    "basis": "earlier_trials",
    "earlier_runs": 18,
    "earlier_experiments": 2,
    "others_running": 3,
    "others_waiting": 1,
    "futures": 20,
    "unit": "epochs",
    "trials": {"low": 16, "middle": 16, "high": 16},
    "stopped": {"low": 10, "middle": 11, "high": 13},
    "rungs": [{"at": 1, "trials": {"low": 16, "middle": 16, "high": 16}}, {"at": 3, "trials": RANGE}],
    "steps": {"low": 1200, "middle": 1400, "high": 1800},
    "slots": 1,
    "step_s": 30.0,
    "slot_hours": {"low": 10.0, "middle": 11.7, "high": 15.0},
    "waits_s": {"low": 0, "middle": 90, "high": 400},
    "took_s": {"low": 3000, "middle": 7200, "high": 200000},
    "price_per_slot_hour": 2.0,
    "cost": {"low": 20.0, "middle": 23.4, "high": 30.0},
    "notes": ["how long 1 of the others will take is not known"],
}


def test_a_plan_is_read_from_top_to_bottom(capsys: pytest.CaptureFixture[str]) -> None:
    show(Plan.model_validate(PLAN))
    said = capsys.readouterr()
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert (
        lines[0]
        == "On pool gpus, 8 slots on 2 machines, 1 slot a trial; 3 other trials run there and 1 wait."
    )
    assert (
        lines[1]
        == "Estimated from 20 simulations, based on 18 earlier runs of the same code in 2 experiments."
    )
    for line in (
        "trials 16 16",
        "stopped early 11 10 to 13",
        "reach epochs 3 2 1 to 3",
        "total epochs 1,400 1,200 to 1,800",
        "slot-hours 11.7 10.0 to 15.0",
        "first trial starts after 90 s 0 s to 7 min",
        "duration 2 h 00 min 50 min to 2.3 d",
        "costs 23.40 20.00 to 30.00",
    ):
        assert line in lines, line
    assert "How long 1 of the others will take is not known." in said.err


def test_what_is_missing_for_more_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    none: dict[str, object] = {
        "slot_hours": None,
        "took_s": None,
        "waits_s": None,
        "cost": None,
        "step_s": None,
        "notes": [],
    }
    show(
        Plan.model_validate(
            {**PLAN, **none, "basis": "stated_model", "others_running": 0, "others_waiting": 0}
        )
    )
    said = capsys.readouterr()
    assert "this code has not run yet" in said.out and "nothing else runs or waits in the pool" in said.out
    assert "duration" not in said.out and "Give --step-time for slot-hours, time and cost." in said.err
    show(Plan.model_validate({**PLAN, "cost": None}))
    assert "The price is unknown: give --price for the cost." in capsys.readouterr().err
