"""Filter a lineage graph for callers who do not see all workspaces."""

from collections.abc import Collection, Mapping, Set
from enum import StrEnum


class LineageKind(StrEnum):
    """Kind of a node in the lineage graph."""

    DATASET = "dataset"
    CODE = "code"
    EXPERIMENT = "experiment"
    TRIAL = "trial"
    CHECKPOINT = "checkpoint"
    VERSION = "version"
    CONSUMER = "consumer"


WORKSPACE_KINDS = (LineageKind.EXPERIMENT, LineageKind.TRIAL, LineageKind.VERSION)
"""Kinds that belong to a workspace. Nodes of other kinds are visible if a neighbor of these kinds is."""


def visible_nodes(
    nodes: Mapping[str, LineageKind], edges: Collection[tuple[str, str]], known: Set[str]
) -> Set[str]:
    """Return the visible nodes: the `known` ones, and nodes outside workspaces that have a known neighbor.

    Args:
        nodes: Kinds by id.
        edges: Pairs of ids; the direction does not matter.
    """
    beside = {target for source, target in edges if source in known}
    beside |= {source for source, target in edges if target in known}
    return {
        node
        for node, kind in nodes.items()
        if node in known or (kind not in WORKSPACE_KINDS and node in beside)
    }
