"""The on-disk record of a run."""

import json
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from shared.ids import AllocationId, ExperimentId, RunId, TrialId, WorkerId
from shared.messages.allocations import DesiredAllocation
from shared.messages.trial_specs import GangMember, PolicyMatch, Signal, TrialSpec
from worker.core.gang.assignment import Formation, FormationStep, Gang, RankAssignment
from worker.core.run.records import Ending, Exits, LocalRun, Notice, Ranks, Request
from worker.core.run.states import RunState
from worker.store.records import StoredRun, read_record, write_record

ALLOCATION, RUN = AllocationId(UUID(int=1)), RunId(UUID(int=2))
ASSIGNMENT = {"index": 0, "members": 2, "first_rank": 0, "ranks": 1, "size": 2, "meets": True}
ALLOCATED = DesiredAllocation(
    allocation_id=ALLOCATION,
    run_id=RUN,
    run_number=1,
    trial_id=TrialId(UUID(int=3)),
    experiment_id=ExperimentId(UUID(int=4)),
    tenant=UUID(int=5),
    token=7,
    generation=1,
    signal=Signal.RUN,
    members=(GangMember(worker=WorkerId("w1"), slots=1), GangMember(worker=WorkerId("w2"), slots=1)),
    spec=TrialSpec(experiment_number=1, trial_number=1, entrypoint="x.py", seed=1, metric="loss"),
)
RECORD: dict[str, Any] = {
    "run": {
        "allocation_id": str(ALLOCATION),
        "run_id": str(RUN),
        "token": 7,
        "gang": {
            "generation": 1,
            "assignment": ASSIGNMENT,
            "rendezvous": "10.0.0.1:5",
            "rendezvous_asked": True,
            "formation": {"generation": 2, "assignment": ASSIGNMENT, "step": "prepared", "stands_by": False},
        },
        "state": "resizing",
        "request": {
            "signal": "run",
            "decide_at": None,
            "preemption_timeout_s": 60.0,
            "verdict": "run",
            "verdicts": 0,
            "dropped": False,
        },
        "notice": {"signal": "run", "at": None, "acknowledged": None},
        "ranks": {"births": [[1, 0]], "confirmed": [[0, 1]], "leaving": []},
        "exits": {"codes": [[0, 3]], "last_at": 2.0, "error": "boom", "starved": False, "invalid": None},
        "ending": {
            "fault": "user",
            "reason": "boom",
            "kill_at": None,
            "counted": None,
            "forced": False,
            "exit_code": 3,
        },
        "policies": [{"name": "oom", "action": "label"}],
    },
    "allocation": ALLOCATED.model_dump(mode="json"),
    "token": "t",
    "environment": "e",
}
"""A record as version 0.2.0 writes it."""


@pytest.mark.parametrize("state", RunState)
def test_a_record_of_version_0_2_0_is_read_and_written_as_it_was(state: RunState) -> None:
    record = RECORD | {"run": RECORD["run"] | {"state": state}}
    stored = read_record(json.dumps(record))
    assert stored.run.state is state
    assert (stored.token, stored.environment) == ("t", "e")
    assert json.loads(write_record(stored)) == record | {"image": None}, "later fields have defaults"


def test_all_that_is_known_of_a_run_survives_a_restart() -> None:
    assignment = RankAssignment(1, 2, 1, 2, 3)
    run = LocalRun(
        ALLOCATION,
        RUN,
        7,
        Gang(4, assignment, "a:1", True, Formation(4, assignment, FormationStep.NOTIFIED, stands_by=True)),
        RunState.KILLING,
        Request(Signal.STOP, 9.0, 60.0, Signal.PAUSE, 3, True),
        Notice(Signal.STOP, 1.0, Signal.STOP),
        Ranks(((1, 0), (4, 1)), ((0, 1), (1, 0)), frozenset({"x.1.1"})),
        Exits(((0, 3),), 2.0, "boom", True, "no batch fits"),
        Ending("machine", "full", None, 1, True),
        (PolicyMatch(name="oom"),),
    )
    assert read_record(write_record(StoredRun(run, ALLOCATED, "t"))).run == run


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ValidationError):
        read_record(json.dumps(RECORD | {"run": RECORD["run"] | {"state": "dreaming"}}))
