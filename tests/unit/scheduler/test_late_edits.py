"""What the slow loop reads of people's rules does not undo what this leader has taken up meanwhile."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.scheduler.admin.missed_edits import StoredRules
from services.scheduler.cycle import Cycle
from services.scheduler.reconcile import take_up_rules
from tests.unit.scheduler.world import POOL, World


@pytest.mark.parametrize("is_edited_meanwhile", [True, False])
def test_rules_that_were_read_before_an_edit_of_this_leader_change_nothing(is_edited_meanwhile: bool) -> None:
    world = World()
    unused = cast(Any, None)
    term = cast(Any, SimpleNamespace(cluster=world.cluster))
    cycle = Cycle(term, unused, unused, unused, unused)
    read = replace(world.policy, order="fifo")
    edits = cycle.edits
    if is_edited_meanwhile:
        edited = replace(world.policy, order="fair_share")
        cycle.edit(lambda cycle: cycle.cluster.put_pool(edited))
    take_up_rules(cycle, StoredRules([read], [], [], {}), edits)
    for event in list(cycle._events):
        event(cycle)
    assert world.cluster.pools[POOL].policy.order == ("fair_share" if is_edited_meanwhile else "fifo")
