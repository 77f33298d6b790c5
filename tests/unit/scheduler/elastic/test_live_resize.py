"""A run whose script can do that gets other slots while it trains, and goes on without a member that is lost."""

from services.scheduler.core.reducers import gang_forming
from services.scheduler.core.reducers.workers import on_heartbeat
from services.scheduler.core.state.desired import desired_of
from services.scheduler.core.state.observed import Observed, ObservedState
from services.scheduler.core.state.published_events import Ended, Granted, Resized
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.run_states import RunState
from services.scheduler.store.rows import run_row
from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from tests.unit.scheduler.elastic.test_extra_slots import Lender
from tests.unit.scheduler.world import POOL

LOST = RunExit(exit_code=None, is_machine_fault=True, reason="the disk is broken")


class Live(Lender):
    """Machines of two slots whose workers say what a resize needs; `members` say it at once."""

    def __init__(self, machines: int = 2) -> None:
        super().__init__(0)
        for number in range(machines):
            self.worker(f"w{number}", 2)

    def say(self, number: int, *names: str, **more: object) -> None:
        """What these workers say of a trial's run, in their next heartbeats."""
        for name in names:
            run = self.run(number)
            said: dict[str, object] = {
                "generation": run.gang.generation,
                "prepared": run.gang.generation,
                "joined": run.gang.generation,
                "is_live": True,
                "rendezvous": f"{name}:{run.gang.generation}" if name == run.chief else None,
            }
            one = Observed(run.allocation, run.id, run.token, **(said | more))  # type: ignore[arg-type]
            others = tuple(other for other in self.observed(name) if other.run != run.id)
            told = ObservedState(WorkerId(name), POOL, "cpu", (0, 1), allocations=(*others, one))
            self.cluster.apply(on_heartbeat(self.cluster, told, self.now))

    def begin(self, number: int, least: int = 1, most: int = 4) -> Run:
        """An elastic trial on one slot, whose script has taken its seat."""
        self.want_elastic(number, least, most)
        self.cycle()
        self.say(number, *self.run(number).workers)
        return self.run(number)

    def to(self, number: int, **placement: int) -> Run:
        places = tuple((WorkerId(name), slots) for name, slots in placement.items())
        slots = sum(placement.values())
        self.cluster.apply(
            gang_forming.on_resized(self.cluster, self.run(number).id, slots, places, self.now)
        )
        return self.run(number)

    def facts(self) -> list[type]:
        return [type(fact) for fact in self.cluster.take_unsaved().facts]


def used(world: Live) -> dict[str, int]:
    return {
        str(name): worker.used_slots for name, worker in world.cluster.workers.items() if worker.used_slots
    }


def test_a_run_grows_in_place_and_nothing_ends() -> None:
    world = Live()
    before = world.begin(1, least=2)
    assert used(world) == {"w0": 2}
    run = world.to(1, w0=2, w1=2)
    assert (run.gang.generation, run.token, run.allocation) == (2, before.token, before.allocation)
    assert used(world) == {"w0": 2, "w1": 2}
    (wanted,) = desired_of(world.cluster, WorkerId("w1"))
    assert (wanted.needs_spec, [share.worker for share in wanted.run.gang.members]) == (True, ["w0", "w1"])
    world.say(1, "w0", joined=1)
    assert not world.run(1).gang.may_meet
    world.say(1, "w1", prepared=1, joined=1)
    assert not world.run(1).gang.may_meet
    world.say(1, "w1", joined=1)
    assert world.run(1).gang.may_meet
    world.facts()
    world.say(1, "w0")
    assert world.run(1).gang.target
    world.say(1, "w1")
    assert world.facts() == [Resized]
    assert (world.run(1).gang.target, world.placement(1)) == ((), {"w0": 2, "w1": 2})


def test_an_old_word_of_the_chief_is_not_taken_for_the_new_meeting_place() -> None:
    world = Live()
    world.begin(1, least=2)
    world.to(1, w0=2, w1=1)
    world.say(1, "w0", generation=1, prepared=1, joined=1, rendezvous="w0:1")
    assert world.run(1).gang.rendezvous is None
    world.say(1, "w0", joined=1)
    assert world.run(1).gang.rendezvous == "w0:2"


def test_slots_are_given_back_when_their_ranks_have_gone() -> None:
    world = Live()
    world.begin(1, least=2)
    world.to(1, w0=2, w1=2)
    world.say(1, "w0", "w1")
    run = world.to(1, w0=1)
    assert used(world) == {"w0": 2, "w1": 2}
    world.say(1, "w0")
    assert world.run(1).gang.target
    world.say(1, "w1", exit=RunExit())
    assert used(world) == {"w0": 1}
    assert world.run(1).shares[0].slot_ids == run.shares[0].slot_ids[:1]
    assert desired_of(world.cluster, WorkerId("w1")) == ()
    assert world.run(1).gang.former == {"w1"}
    assert not world.run(1).preempted


def test_a_gang_that_broke_and_has_lost_nobody_forms_anew_as_it_was() -> None:
    world = Live()
    world.begin(1, least=2)
    world.to(1, w0=2, w1=2)
    world.say(1, "w0", "w1")
    before = world.run(1)
    world.say(1, "w0", joined=1)
    assert not world.run(1).gang.target, "the other may be lost, and not have been missed yet"
    world.say(1, "w0")
    world.say(1, "w1", joined=1)
    assert not world.run(1).gang.target, "the first one trains again"
    world.say(1, "w0", joined=1)
    run = world.run(1)
    assert (run.gang.generation, run.gang.target, run.token) == (3, before.shares, before.token)
    world.facts()
    world.say(1, "w0", "w1")
    assert world.facts() == [Resized]
    assert (world.run(1).gang.target, world.run(1).shares, world.run(1).gang.broken) == (
        (),
        before.shares,
        frozenset(),
    )


def test_a_lost_member_is_done_without_and_a_lost_chief_is_not() -> None:
    for is_silent in (True, False):
        world = Live()
        world.begin(1, least=2)
        world.to(1, w0=2, w1=1)
        world.say(1, "w0", "w1")
        world.facts()
        if is_silent:
            world.silence("w1")
        else:
            world.say(1, "w1", exit=RunExit(exit_code=-9))
        run = world.run(1)
        assert (run.gang.generation, run.is_ended, [share.worker for share in run.gang.members]) == (
            3,
            False,
            ["w0"],
        )
        world.say(1, "w0")
        assert Resized in world.facts()
        world.silence("w0")
        assert world.run(1).is_ended
        assert [
            fact.ending.charged for fact in world.cluster.take_unsaved().facts if isinstance(fact, Ended)
        ] == [False]


def test_a_run_does_not_go_on_below_its_minimum_nor_after_a_fault_of_its_code() -> None:
    for exited, least in ((LOST, 3), (RunExit(exit_code=1), 1)):
        world = Live()
        world.begin(1, least=least)
        if least == 1:
            world.to(1, w0=1, w1=1)
        world.say(1, "w0", "w1")
        world.say(1, "w1", exit=exited)
        assert world.run(1).state is RunState.KILLING


def test_one_that_is_lost_while_the_gang_forms_is_left_out() -> None:
    world = Live(3)
    world.begin(1, least=2)
    world.to(1, w0=2, w1=1, w2=1)
    world.say(1, "w0", joined=1)
    world.silence("w1")
    run = world.run(1)
    assert (run.gang.generation, [share.worker for share in run.gang.members]) == (3, ["w0", "w2"])
    world.say(1, "w0", "w2")
    assert (world.run(1).gang.target, world.placement(1)) == ((), {"w0": 2, "w2": 1})


def test_a_worker_that_had_a_part_once_may_have_one_again() -> None:
    world = Live()
    world.begin(1, least=2)
    world.to(1, w0=2, w1=1)
    world.say(1, "w0", "w1")
    world.to(1, w0=2)
    world.say(1, "w1", exit=RunExit())
    world.say(1, "w0")
    world.to(1, w0=2, w1=2)
    world.say(1, "w1", generation=3, exit=RunExit())
    assert not world.run(1).exits
    world.say(1, "w0", "w1")
    assert world.placement(1) == {"w0": 2, "w1": 2}


def test_a_gang_that_does_not_form_saves_and_goes() -> None:
    world = Live()
    world.begin(1, least=2)
    world.to(1, w0=2, w1=2)
    world.wait(gang_forming.FORM_WITHIN.total_seconds())
    world.cycle()
    run = world.run(1)
    assert run.preempted
    assert run.asked is not None
    assert (run.asked.because, run.asked.slots) == ("resize", 4)
    assert desired_of(world.cluster, WorkerId("w0"))[0].signal is Signal.PREEMPT


def test_a_lending_pool_resizes_in_place_what_can_be() -> None:
    world = Live()
    world.begin(1)
    for _ in range(8):
        world.cycle()
        if world.run(1).gang.target:
            assert not world.run(1).preempted
            world.say(1, *(str(worker) for worker in world.run(1).workers))
        world.report(1)
        world.wait(600)
    assert world.run(1).number == 1
    assert sum(world.placement(1).values()) == 4
    world.want(2, 2)
    for _ in range(8):
        world.cycle()
        if run := world.run(1) if world.run(1).gang.target else None:
            members = {share.worker for share in run.gang.target}
            world.say(1, *(str(worker) for worker in run.workers & members))
            for worker in run.workers - members:
                world.say(1, str(worker), exit=RunExit())
    assert world.running() == {1, 2}
    assert world.run(1).number == 1
    assert Granted not in world.facts()


def test_what_a_new_leader_finds_is_all_that_it_needs() -> None:
    world = Live()
    world.begin(1, least=2)
    run = world.to(1, w0=2, w1=1)
    row = run_row(run)["live_resize"]
    assert [member["worker"] for member in row["target"]] == ["w0", "w1"]
    assert (row["unseen"], row["former"]) == (["w1"], [])
    assert run_row(replace_live(run))["live_resize"] is None


def replace_live(run: Run) -> Run:
    return run.with_gang(is_live=False)
