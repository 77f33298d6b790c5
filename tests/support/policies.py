"""Policies for tests of one rule at a time: by priority alone, and no run is asked for its slots, where a test says nothing else."""

from typing import Any

from services.scheduler.core.state.records.pool import PoolPolicy
from shared.ids import PoolName
from shared.messages.pools import PoolRules


def plain(name: PoolName, **rules: Any) -> PoolPolicy:
    """A policy with these rules, and no other; what a pool has that nobody configured is `PoolPolicy(name)`."""
    return PoolPolicy(
        name, **{"order": "priority", "preemption": False, "quantum": None, "elastic": False, **rules}
    )


def plain_rules(**rules: Any) -> PoolRules:
    """The same as a message."""
    return PoolRules(
        **{"order": "priority", "preemption": False, "quantum_s": None, "elastic": False, **rules}
    )
