"""What of a graph of lineage somebody sees who does not see all workspaces."""

from collections.abc import Collection, Mapping, Set
from enum import StrEnum


class LineageKind(StrEnum):
    """What stands in the graph."""

    DATASET = "dataset"
    CODE = "code"
    EXPERIMENT = "experiment"
    TRIAL = "trial"
    CHECKPOINT = "checkpoint"
    VERSION = "version"
    CONSUMER = "consumer"


WORKSPACE_KINDS = (LineageKind.EXPERIMENT, LineageKind.TRIAL, LineageKind.VERSION)
"""These stand in a workspace; the others are seen beside one of them that is."""


def visible_nodes(
    nodes: Mapping[str, LineageKind], edges: Collection[tuple[str, str]], known: Set[str]
) -> Set[str]:
    """The nodes without the placed ones that are not `known`, and without what hangs on such ones only.

    Args:
        nodes: kinds by id.
        edges: pairs of ids; either end is beside the other.
    """
    beside = {target for source, target in edges if source in known}
    beside |= {source for source, target in edges if target in known}
    return {
        node
        for node, kind in nodes.items()
        if node in known or (kind not in WORKSPACE_KINDS and node in beside)
    }
