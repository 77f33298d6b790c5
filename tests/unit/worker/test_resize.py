"""A run gets other members while its ranks live: what each worker does, step by step, until its part is over."""

from dataclasses import replace
from uuid import UUID

from shared.ids import AllocationId, ExperimentId, RunId, TrialId, WorkerId
from shared.messages.allocations import DesiredAllocation, DesiredSet
from shared.messages.trial_specs import GangMember, Signal, TrialSpec
from worker.core.desired_set import apply_desired
from worker.core.run.actions import (
    Action,
    OpenRendezvous,
    SendAssignments,
    SendSignal,
    StartRanks,
    StartStandbyRanks,
)
from worker.core.run.plan import plan
from worker.core.run.records import LocalRun, Ranks
from worker.core.run.reducers import on_exit, on_prepared, on_rendezvous, on_started
from worker.core.run.resize import can_resize, joined, on_generation_confirmed, on_left, prepared
from worker.core.run.states import RunState
from worker.runs.messages import read_desired

CHIEF, OTHER = WorkerId("w1"), WorkerId("w2")
SPEC = TrialSpec(experiment_number=1, trial_number=1, entrypoint="x.py", seed=1, metric="loss")


def _allocation(generation: int, *slots: int, meeting: str | None = None) -> DesiredAllocation:
    """The run on w1 with the first number of slots, on w2 with the second."""
    members = tuple(
        GangMember(worker=name, slots=count) for name, count in zip((CHIEF, OTHER), slots, strict=False)
    )
    return DesiredAllocation(
        allocation_id=AllocationId(UUID(int=1)),
        run_id=RunId(UUID(int=2)),
        run_number=1,
        trial_id=TrialId(UUID(int=3)),
        experiment_id=ExperimentId(UUID(int=4)),
        tenant=UUID(int=5),
        token=1,
        generation=generation,
        signal=Signal.RUN,
        members=members,
        rendezvous=meeting,
        spec=SPEC,
    )


def _heard(run: LocalRun | None, allocation: DesiredAllocation, worker: WorkerId = CHIEF) -> LocalRun:
    known = {run.allocation_id: run} if run else {}
    desired = DesiredSet(worker=worker, epoch=1, sequence=1, allocations=(allocation,))
    applied = apply_desired(known, read_desired(desired), worker)
    return applied.changed[0] if run else applied.new[0]


def _acted(run: LocalRun) -> tuple[LocalRun, list[Action]]:
    """The run when all that can be done now was done."""
    done: list[Action] = []
    while (step := plan(run, 0.0))[1]:
        run = step[0]
        done += step[1]
    return step[0], done


def _running(run: LocalRun, *confirmed: int) -> LocalRun:
    run, _ = _acted(on_prepared(run))
    run = on_started(run)
    for local, generation in enumerate(confirmed):
        run = on_generation_confirmed(run, local, generation)
    return run


def test_it_is_told_that_a_rank_waits_since_its_gang_broke() -> None:
    run = _running(_heard(None, _allocation(1, 1)), 1)
    run = on_generation_confirmed(run, 0, 0)
    assert joined(run) == 0
    run, _ = _acted(_heard(run, _allocation(2, 1, meeting="10.0.0.1:4000")))
    assert (joined(run), prepared(run)) == (1, 2)
    assert joined(on_generation_confirmed(run, 0, 2)) == 2


def test_the_chief_trains_on_until_all_are_prepared_and_then_forms_anew() -> None:
    run = _running(_heard(None, _allocation(1, 1)), 1)
    assert (can_resize(run), prepared(run), joined(run)) == (True, 1, 1)
    run, done = _acted(_heard(run, _allocation(2, 1, 2)))
    assert done == [OpenRendezvous()]
    run, done = _acted(on_rendezvous(run, "10.0.0.1:4000"))
    assert (done, prepared(run), joined(run), run.gang.assignment.size) == ([], 2, 1, 1)
    run, done = _acted(_heard(run, _allocation(2, 1, 2, meeting="10.0.0.1:4000")))
    assert done == [SendAssignments()]
    run = on_generation_confirmed(run, 0, 2)
    assert (run.gang.formation, joined(run), run.gang.assignment.size, run.gang.rendezvous) == (
        None,
        2,
        3,
        "10.0.0.1:4000",
    )


def test_ranks_that_are_new_stand_by_until_they_may_join() -> None:
    run = _heard(None, _allocation(2, 1, 2), OTHER)
    run, done = _acted(on_prepared(run))
    assert done == [StartRanks()]
    run = on_generation_confirmed(on_started(run), 0, 0)
    assert prepared(run) == 1
    run = on_generation_confirmed(run, 1, 0)
    assert (prepared(run), joined(run)) == (2, 1)
    run, done = _acted(_heard(run, _allocation(2, 1, 2, meeting="10.0.0.1:4000"), OTHER))
    assert done == [SendAssignments()]
    run = on_generation_confirmed(on_generation_confirmed(run, 0, 2), 1, 2)
    assert (joined(run), run.gang.stands_by) == (2, False)


def test_a_worker_gets_more_ranks_and_gives_the_last_ones_back() -> None:
    run = _running(_heard(None, _allocation(1, 1)), 1)
    run, done = _acted(_heard(run, _allocation(2, 3)))
    assert done == [StartStandbyRanks(1), OpenRendezvous()]
    run = on_rendezvous(on_generation_confirmed(on_generation_confirmed(run, 1, 0), 2, 0), "10.0.0.1:4000")
    run, _ = _acted(_heard(run, _allocation(2, 3, meeting="10.0.0.1:4000")))
    for local in range(3):
        run = on_generation_confirmed(run, local, 2)
    assert (run.gang.formation, run.local_ranks) == (None, 3)

    run, _ = _acted(_heard(run, _allocation(3, 1)))
    run = on_rendezvous(run, "10.0.0.1:5000")
    run, done = _acted(_heard(run, _allocation(3, 1, meeting="10.0.0.1:5000")))
    assert done == [SendAssignments()]
    assert len(run.ranks.leaving) == 2
    run = on_generation_confirmed(run, 0, 3)
    assert run.gang.formation is not None
    for name in sorted(run.ranks.leaving):
        run = on_left(run, name)
    assert (run.gang.formation, run.local_ranks, run.exits.codes, run.state) == (
        None,
        1,
        (),
        RunState.RUNNING,
    )
    assert on_exit(run, 0, 0, 1.0).is_over


def test_a_worker_without_a_part_any_more_ends_well() -> None:
    run = _running(_heard(None, _allocation(1, 1, 1, meeting="a:1"), OTHER), 1)
    run, done = _acted(_heard(run, _allocation(2, 1), OTHER))
    assert done == []
    run, done = _acted(_heard(run, _allocation(2, 1, meeting="a:2"), OTHER))
    assert done == [SendAssignments()]
    (name,) = run.ranks.leaving
    run = on_left(run, name)
    assert (run.state, run.ending.exit_code, run.ending.fault, run.ending.forced) == (
        RunState.EXITED,
        0,
        None,
        False,
    )


def test_a_worker_that_has_started_nothing_yet_only_lets_go() -> None:
    for begun in (
        _heard(None, _allocation(2, 1, 1), OTHER),
        on_prepared(_heard(None, _allocation(2, 1, 1), OTHER)),
    ):
        run, _ = plan(_heard(begun, _allocation(3, 1), OTHER), 0.0)
        assert (run.state, run.ending.exit_code, run.ending.forced) == (RunState.EXITED, 0, False)


def test_a_member_that_is_lost_meanwhile_makes_a_newer_formation() -> None:
    run = _running(_heard(None, _allocation(1, 1)), 1)
    run = on_rendezvous(_acted(_heard(run, _allocation(2, 1, 1)))[0], "a:1")
    run, done = _acted(_heard(run, _allocation(3, 1)))
    assert (done, run.gang.rendezvous) == ([OpenRendezvous()], None)
    run, done = _acted(_heard(on_rendezvous(run, "a:2"), _allocation(3, 1, meeting="a:2")))
    assert done == [SendAssignments()]
    assert joined(on_generation_confirmed(run, 0, 3)) == 3


def test_ranks_that_stand_by_have_nothing_to_save_when_the_run_is_to_stop() -> None:
    run = _running(_heard(None, _allocation(2, 1, 1), OTHER), 0)
    run, done = _acted(_heard(run, replace_wanted(_allocation(2, 1, 1), Signal.STOP), OTHER))
    assert SendAssignments() in done
    (name,) = run.ranks.leaving
    run = on_left(run, name)
    assert (run.state, run.ending.exit_code, run.ending.forced) == (RunState.EXITED, 0, False)


def test_a_signal_reaches_those_that_train_also_while_they_form_anew() -> None:
    run = _running(_heard(None, _allocation(1, 1)), 1)
    run, _ = _acted(_heard(run, _allocation(2, 1, 1)))
    run, done = _acted(_heard(run, replace_wanted(_allocation(2, 1, 1), Signal.PAUSE)))
    assert done == [SendSignal(Signal.PAUSE)]


def test_a_record_of_before_is_taken_for_one_that_cannot_be_resized() -> None:
    run = _running(_heard(None, _allocation(1, 1)), 1)
    assert not can_resize(replace(run, ranks=Ranks()))


def replace_wanted(allocation: DesiredAllocation, wanted: Signal) -> DesiredAllocation:
    return allocation.model_copy(update={"signal": wanted})
