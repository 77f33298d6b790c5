"""The life of an instance, as a table and for any order of what happens."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from services.provisioner.core.instances.instance import (
    FINAL,
    INSTANCE,
    InstanceState,
    InstanceTrigger,
    ended,
    moved,
    worker_of,
)
from shared.errors import Broken
from tests.unit.provisioner.world import NOW, instance, seconds

T = InstanceTrigger


def test_every_state_is_reachable_and_the_final_ones_are_left_by_nothing() -> None:
    assert INSTANCE.reachable() == frozenset(InstanceState)
    for state, trigger in product(FINAL, InstanceTrigger):
        assert INSTANCE.next(state, trigger) == state


def test_the_whole_life_of_one_that_is_no_longer_needed() -> None:
    one = instance(1, InstanceState.REQUESTED)
    for trigger in (T.ORDERED, T.APPEARED, T.JOINED, T.DRAIN, T.EMPTIED, T.RELEASE):
        one = moved(one, trigger, NOW)
    one = ended(one, NOW + seconds(60))
    assert one.state is InstanceState.TERMINATED
    assert (one.launched_at, one.ready_at, one.ended_at) == (NOW, NOW, NOW + seconds(60))
    assert one.version == 8


@pytest.mark.parametrize(("trigger", "end"), [(T.VANISH, InstanceState.LOST), (T.FAIL, InstanceState.FAILED)])
def test_what_ends_it_stands_at_its_end_with_the_reason(trigger: InstanceTrigger, end: InstanceState) -> None:
    one = ended(moved(instance(1), trigger, NOW, "the disk broke"), NOW)
    assert (one.state, one.reason) == (end, "the disk broke")


@given(
    st.lists(st.sampled_from([T.ORDERED, T.APPEARED, T.JOINED, T.EMPTIED, T.DRAIN, T.UNDO, T.VANISH, T.FAIL]))
)
def test_versions_rise_exactly_with_states_and_an_early_joining_is_taken(
    triggers: list[InstanceTrigger],
) -> None:
    one = instance(1, InstanceState.REQUESTED, is_schedulable=False)
    for trigger in triggers:
        try:
            after = moved(one, trigger, NOW)
        except Broken:
            continue
        assert (after.version > one.version) == (after.state != one.state)
        assert after.ready_at is None or after.launched_at is not None
        one = after


def test_a_workers_id_is_short_and_derives_from_the_instance() -> None:
    first, second = instance(1), instance(2)
    assert worker_of(first.id) == first.worker != second.worker
    assert len(first.worker) <= 12
