"""Admission: a request may be served while all its holders stay within their limits. Only this module decides it."""

from typing import Literal

from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.slots import SlotCount

Limit = Literal[
    "max_slots",
    "max_trials",
    "workspace_quota",
    "tenant_quota",
    "workspace_budget",
    "tenant_budget",
    "other_tenant",
]


def remaining_slots_of(leaf: ShareNode) -> SlotCount:
    """Return how many more slots an experiment may get."""
    return min(node.remaining_slots for node in leaf.upwards())


def limit_of(leaf: ShareNode, slots: SlotCount) -> Limit | None:
    """Return the nearest limit that the request exceeds; None: none."""
    if leaf.tenant.is_excluded:
        return "other_tenant"
    if leaf.is_full:
        return "max_trials"
    for node in leaf.upwards():
        if slots > node.remaining_slots:
            return _BUDGETS[len(node.path)] if node.is_spent else _NAMES[len(node.path)]
    return None


_NAMES: dict[int, Limit] = {4: "max_slots", 3: "workspace_quota", 2: "workspace_quota", 1: "tenant_quota"}
_BUDGETS: dict[int, Limit] = {2: "workspace_budget", 1: "tenant_budget"}
