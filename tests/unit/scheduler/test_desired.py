"""What goes to a worker, and when silence means loss."""

from dataclasses import replace

import pytest

from services.scheduler.core.state.desired import agrees, desired_of
from services.scheduler.core.state.liveness import REMOVED_AFTER_S, SilenceDetector
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.events import member_of
from services.scheduler.store.rows import _share_row, _shares_of
from shared.ids import WorkerId
from shared.messages.trial_specs import DesiredState, Signal
from tests.unit.scheduler.world import World

A, B = WorkerId("a"), WorkerId("b")


def test_the_set_names_what_should_stand_with_its_spec_until_the_worker_names_it() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1)
    world.want(2)
    world.cycle()
    assert [(item.trial.id.int, item.needs_spec) for item in desired_of(world.cluster, A)] == [
        (1001, True),
        (1002, True),
    ]
    world.worker("a", 2)
    assert [item.needs_spec for item in desired_of(world.cluster, A)] == [False, False]
    world.exit(1)
    assert [item.trial.id.int for item in desired_of(world.cluster, A)] == [1002]


@pytest.mark.parametrize(
    ("wanted", "signal"),
    [
        (DesiredState.RUN, Signal.RUN),
        (DesiredState.PARK, Signal.PAUSE),
        (DesiredState.STOP, Signal.STOP),
        (DesiredState.CANCEL, Signal.CANCEL),
        (DesiredState.KILL, Signal.KILL),
    ],
)
def test_what_is_wanted_reaches_the_running_allocation(wanted: DesiredState, signal: Signal) -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.want(1, desired_state=wanted, version=2, decide_at=9.0)
    (item,) = desired_of(world.cluster, A)
    assert (item.signal, item.trial.request.decide_at) == (signal, 9.0)


def test_what_is_left_of_a_broken_gang_is_killed_whatever_is_wanted() -> None:
    world = World()
    world.worker("a")
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    world.exit(1, RunExit(exit_code=1), workers=("b",))
    assert [item.signal for item in desired_of(world.cluster, A)] == [Signal.KILL]


def test_a_worker_agrees_only_with_the_same_allocations_tokens_and_wishes() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    desired, (has,) = desired_of(world.cluster, A), world.observed("a")
    assert agrees(desired, [has])
    for other in (
        [],
        [replace(has, token=has.token + 1)],
        [replace(has, signal=Signal.STOP)],
        [replace(has, decide_at=1.0)],
        [has, replace(has, exit=RunExit())],
    ):
        assert not agrees(desired, other)


def beats(silence: SilenceDetector, start: float, end: float, *, echo: bool) -> list[WorkerId]:
    """Quarter seconds pass; returns who was given up."""
    lost: list[WorkerId] = []
    now = start
    while now <= end:
        if echo:
            silence.on_echo(now)
        lost += silence.take_silent(now)
        now += 0.25
    return lost


def test_a_worker_silent_for_a_lease_is_given_up_once() -> None:
    silence = SilenceDetector(0.0)
    silence.on_heartbeat(A, 0.0)
    assert beats(silence, 0.0, 4.0, echo=True) == []
    assert beats(silence, 4.25, 20.0, echo=True) == [A]


def test_when_one_that_was_given_up_was_heard_last_is_still_told() -> None:
    silence = SilenceDetector(0.0)
    silence.on_heartbeat(A, 3.0)
    assert beats(silence, 3.0, 20.0, echo=True) == [A]
    assert silence.seconds_since_heartbeat(A, 20.0) == pytest.approx(17.0)
    silence.on_heartbeat(A, 21.0)
    assert silence.seconds_since_heartbeat(A, 22.0) == pytest.approx(1.0)
    assert silence.seconds_since_heartbeat(B, 22.0) is None


@pytest.mark.parametrize("outage_s", [2.0, 10.0, 3600.0])
def test_an_outage_of_any_length_gives_every_worker_a_full_lease(outage_s: float) -> None:
    silence = SilenceDetector(0.0)
    silence.on_heartbeat(A, 1.0)
    silence.on_echo(1.0)
    back = 1.0 + outage_s
    assert beats(silence, 1.25, back, echo=False) == []
    assert beats(silence, back, back + 4.0, echo=True) == []
    assert beats(silence, back + 4.25, back + 4.5, echo=True) == [A]


def test_a_leader_that_was_frozen_gives_up_nobody_before_a_full_lease() -> None:
    silence = SilenceDetector(0.0)
    silence.on_heartbeat(A, 0.0)
    silence.on_echo(0.25)
    assert silence.take_silent(60.0) == []
    assert beats(silence, 60.0, 64.0, echo=True) == []


def test_a_new_leader_expects_the_workers_it_has_read_of() -> None:
    silence = SilenceDetector(100.0)
    silence.watch(A)
    assert beats(silence, 100.0, 104.0, echo=True) == []
    assert beats(silence, 104.25, 104.25, echo=True) == [A]


def test_a_worker_that_stays_silent_is_lost_for_good_once_and_an_outage_does_not_count() -> None:
    silence = SilenceDetector(0.0)
    silence.miss(B)
    silence.on_heartbeat(A, 0.0)
    assert beats(silence, 0.0, 10.0, echo=True) == [A]
    beats(silence, 10.25, REMOVED_AFTER_S, echo=True)
    assert silence.take_removed(REMOVED_AFTER_S) == []
    silence.on_heartbeat(A, REMOVED_AFTER_S)
    back = 3 * REMOVED_AFTER_S
    assert silence.take_removed(back) == [], "the leader did not hear itself"
    silence.on_echo(back)
    assert silence.take_removed(back) == []
    beats(silence, back, 4 * REMOVED_AFTER_S + 10, echo=True)
    assert silence.take_removed(4 * REMOVED_AFTER_S + 10) == [A, B]
    assert silence.take_removed(4 * REMOVED_AFTER_S + 10) == []


def test_no_echo_is_asked_for_while_heartbeats_come_in_time() -> None:
    silence = SilenceDetector(0.0)
    silence.on_heartbeat(A, 10.0)
    assert silence.echo_due_s(10.0) == pytest.approx(1.1)
    assert silence.echo_due_s(11.0) > 0
    assert silence.echo_due_s(11.2) == 0, "a heartbeat is late: the leader must know that it would be heard"


def test_a_leader_that_only_misses_workers_listens_to_itself_so_that_it_can_tell_when_they_are_lost_for_good() -> (
    None
):
    silence = SilenceDetector(0.0)
    silence.miss(A)
    gone: list[WorkerId] = []
    now = 0.0
    while now < REMOVED_AFTER_S + 10 and not gone:
        if not silence.echo_due_s(now):
            silence.on_echo(now)
        gone = silence.take_removed(now)
        now += 0.4
    assert gone == [A]


def test_a_worker_that_is_heard_proves_the_way_over_the_bus_for_one_that_is_not() -> None:
    silence = SilenceDetector(0.0)
    silence.watch(B)
    lost: list[WorkerId] = []
    for second in range(6):
        silence.on_heartbeat(A, float(second))
        lost += silence.take_silent(second + 0.5)
    assert lost == [B]


def test_without_an_echo_a_lone_worker_that_falls_silent_is_given_up_only_once_the_way_is_open() -> None:
    silence = SilenceDetector(0.0)
    silence.on_heartbeat(A, 0.0)
    assert beats(silence, 0.25, 9.75, echo=False) == []
    assert beats(silence, 10.0, 14.0, echo=True) == []
    assert beats(silence, 14.25, 14.25, echo=True) == [A]


def test_members_are_told_which_of_them_have_private_networks() -> None:
    world = World()
    world.worker("a", has_private_network=True)
    world.worker("b")
    world.want(1, 2)
    world.cycle()
    (run,) = world.cluster.runs.values()
    members = {member.worker: member.private_network for member in map(member_of, run.gang.shares)}
    assert members == {A: True, B: False}
    assert _shares_of([_share_row(share) for share in run.gang.shares]) == run.gang.shares
