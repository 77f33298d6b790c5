"""Of a graph of lineage a caller sees what stands in workspaces that it sees, and what is beside that."""

import pytest

from services.gateway.lineage.core import LineageKind, visible_nodes

NODES = {
    "dataset:d": LineageKind.DATASET,
    "experiment:1": LineageKind.EXPERIMENT,
    "trial:1": LineageKind.TRIAL,
    "checkpoint:1": LineageKind.CHECKPOINT,
    "trial:2": LineageKind.TRIAL,
    "checkpoint:2": LineageKind.CHECKPOINT,
}
EDGES = [
    ("dataset:d", "experiment:1"),
    ("experiment:1", "trial:1"),
    ("trial:1", "checkpoint:1"),
    ("checkpoint:1", "trial:2"),
    ("trial:2", "checkpoint:2"),
]


@pytest.mark.parametrize(
    ("known", "seen"),
    [
        (set(), set()),
        ({"experiment:1"}, {"dataset:d", "experiment:1"}),
        ({"experiment:1", "trial:1"}, {"dataset:d", "experiment:1", "trial:1", "checkpoint:1"}),
        ({"trial:2"}, {"checkpoint:1", "trial:2", "checkpoint:2"}),
    ],
)
def test_placed_nodes_are_seen_where_they_are_known_and_others_beside_them(
    known: set[str], seen: set[str]
) -> None:
    assert visible_nodes(NODES, EDGES, known) == seen
