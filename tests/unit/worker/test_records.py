"""A run's record: daemons of versions before and after read it, whatever the core makes of a run."""

import json
from typing import Any
from uuid import UUID

import pytest
from pydantic import ValidationError

from shared.ids import AllocationId, ExperimentId, RunId, TrialId, WorkerId
from shared.messages.allocations import DesiredAllocation
from shared.messages.specs import GangMember, PolicyMatch, Signal, TrialSpec
from worker.core.gang.assignment import Formation, FormationStep, Gang, RankAssignment
from worker.core.run.records import Ending, Exits, LocalRun, Notice, Ranks, Request
from worker.core.run.states import RunState
from worker.store.records import StoredRun, read_record, write_record

ALLOCATION, RUN = AllocationId(UUID(int=1)), RunId(UUID(int=2))
SEAT = {"index": 0, "members": 2, "first_rank": 0, "ranks": 1, "size": 2, "meets": True}
ALLOCATED = DesiredAllocation(
    allocation_id=ALLOCATION,
    run_id=RUN,
    run_number=1,
    trial_id=TrialId(UUID(int=3)),
    experiment_id=ExperimentId(UUID(int=4)),
    tenant=UUID(int=5),
    token=7,
    generation=1,
    wanted=Signal.RUN,
    members=(GangMember(worker=WorkerId("w1"), slots=1), GangMember(worker=WorkerId("w2"), slots=1)),
    spec=TrialSpec(experiment_number=1, trial_number=1, entrypoint="x.py", seed=1, metric="loss"),
)
OF_BEFORE: dict[str, Any] = {
    "allocation_id": str(ALLOCATION),
    "run_id": str(RUN),
    "token": 7,
    "generation": 1,
    "seat": SEAT,
    "preemption_timeout_s": 60.0,
    "state": "running",
    "wanted": "run",
    "verdict": "run",
    "verdicts": 0,
    "decide_at": None,
    "told": "run",
    "asked_at": None,
    "rendezvous": "10.0.0.1:5",
    "rendezvous_asked": True,
    "ranks_asked": True,
    "dropped": False,
    "kill_sent": False,
    "counted": None,
    "forced": False,
    "doomed": False,
    "kill_at": None,
    "acknowledged": None,
    "exits": [],
    "said": "",
    "starved": False,
    "last_exit_at": None,
    "exit_code": None,
    "fault": None,
    "reason": None,
    "invalid": None,
    "policies": [],
    "formation": None,
    "stands_by": False,
    "births": [[1, 0]],
    "leaving": [],
    "seated": [],
}
"""A record's run, as the version of before this one writes it."""
FORMS_ANEW = {"formation": {"generation": 2, "seat": SEAT, "may_go": True, "is_told": False}}
STANDS_BY = {"formation": FORMS_ANEW["formation"] | {"is_told": True}, "stands_by": True}
ENDED = {"exits": [[0, 3]], "exit_code": 3, "fault": "user", "reason": "boom", "ranks_asked": False}


def _text(forgotten: bool = False, **changes: object) -> str:
    allocation = ALLOCATED.model_dump(mode="json")
    return json.dumps(
        {
            "run": OF_BEFORE | changes,
            "allocation": allocation,
            "token": "t",
            "forgotten": forgotten,
            "environment": "e",
        }
    )


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"state": "fetching", "ranks_asked": False, "births": []}, RunState.PREPARING),
        ({"state": "starting", "ranks_asked": False, "births": []}, RunState.RENDEZVOUS),
        ({"state": "starting"}, RunState.STARTING),
        ({}, RunState.RUNNING),
        (FORMS_ANEW, RunState.RESIZING),
        (STANDS_BY, RunState.RESIZING),
        ({"doomed": True, "fault": "user", "reason": "hangs", "kill_at": 5.0}, RunState.TERMINATING),
        ({"state": "stopping", "kill_sent": True, "forced": True}, RunState.KILLING),
        ({"state": "stopping", "kill_sent": True, "dropped": True}, RunState.KILLING),
        ({"state": "exited", **ENDED}, RunState.EXITED),
        ({"state": "exited", "dropped": True, "forgotten": True, **ENDED}, RunState.FORGOTTEN),
    ],
)
def test_a_record_of_before_is_read_and_written_as_it_was(changes: dict[str, Any], state: RunState) -> None:
    text = _text(**changes)
    kept = read_record(text)
    assert kept.run.state is state
    assert (kept.token, kept.environment) == ("t", "e")
    assert json.loads(write_record(kept)) == json.loads(text)


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


def test_a_record_of_before_runs_could_be_resized_is_read() -> None:
    older = json.loads(_text())
    for name in ("formation", "stands_by", "births", "leaving", "seated", "invalid", "policies", "kill_at"):
        del older["run"][name]
    run = read_record(json.dumps(older)).run
    assert (run.state, run.ranks, run.gang.formation) == (RunState.RUNNING, Ranks(), None)


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ValidationError):
        read_record(_text(state="dreaming"))
