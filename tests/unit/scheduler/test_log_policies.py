"""Log policies that were met: a failure that no restart will mend, a machine that a trial's later runs keep off."""

from dataclasses import replace

import pytest

from services.scheduler.core.explaining.wait_reasons import explain
from services.scheduler.core.state.published_events import Closed
from services.scheduler.core.state.records.run import RunExit
from services.scheduler.core.state.records.trial import RequestState
from shared.ids import WorkerId
from shared.messages.trial_specs import Signal
from tests.unit.scheduler.test_ends import FAILED, told
from tests.unit.scheduler.world import World


def test_a_log_policy_can_make_a_failure_the_last() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.cluster.take_unsaved()
    world.exit(1, FAILED._replace(reason="it broke", policies=(("NCCL", "label"), ("OOM", "cancel_retries"))))
    facts = world.cluster.take_unsaved().facts
    (closed,) = (fact for fact in facts if isinstance(fact, Closed))
    assert closed.outcome == "failed"
    assert closed.reason == "it broke; not retried: its output matched log policy 'OOM'"
    assert world.trial(1).restarts == 0


@pytest.mark.parametrize("signal", [Signal.PREEMPT, Signal.PAUSE])
def test_a_log_policy_ends_nothing_that_gave_way(signal: Signal) -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    world.cluster.take_unsaved()
    world.exit(1, RunExit(acknowledged=signal, policies=(("OOM", "cancel_retries"),)))
    assert told(world)[0] in ("preempted", "parked")


def test_a_log_policy_keeps_later_runs_off_a_machine() -> None:
    world = World()
    world.worker("a")
    world.want(1)
    world.cycle()
    observed = [replace(one, is_excluded=True) for one in world.observed("a")]
    world.worker("a", allocations=tuple(observed))
    world.exit(1, FAILED)
    assert not world.cycle()
    refusal = explain(world.cluster, world.trial(1))
    assert "its log policies, or its lack of an image, exclude a" in refusal.message
    world.want(1, version=2)
    assert not world.cycle()
    world.worker("b")
    world.cycle()
    assert world.run(1).chief == "b"


def test_a_heartbeat_that_ends_a_run_and_excludes_the_machine_for_an_older_one_requeues_the_trial() -> None:
    world = World()
    world.worker("a", 2)
    world.want(1)
    world.cycle()
    (older,) = world.observed("a")
    world.silence("a")
    world.worker("a", 2, allocations=(older,))
    world.wait(1)
    world.cycle()
    (newer,) = (one for one in world.observed("a") if one.run != older.run)
    world.worker("a", 2, allocations=(replace(newer, exit=FAILED), replace(older, is_excluded=True)))
    assert world.trial(1).state is RequestState.QUEUED
    assert world.trial(1).excluded == {WorkerId("a")}
