"""An answer about lineage holds the facts of what is nearest."""

from services.registry.lineage.queries import FACTS_BYTES_PER_ANSWER, with_fitting_facts
from shared.messages.lineage import LineageNode


def test_facts_are_left_out_once_an_answer_has_no_room_for_more() -> None:
    large = {"hyperparameters": "x" * (FACTS_BYTES_PER_ANSWER // 3)}
    nodes = [LineageNode(id=f"trial:{i}", kind="trial", name=str(i), facts=large) for i in range(5)]
    shown = list(with_fitting_facts(nodes))
    assert [bool(node.facts) for node in shown] == [True, True, False, False, False]
    assert [node.name for node in shown] == ["0", "1", "2", "3", "4"]
