"""Usage by label adds up to the whole, whatever labels there are."""

from uuid import UUID, uuid5

from hypothesis import given, strategies as st

from services.gateway.usage.core import SUMS, UsageKey, by_label
from shared.ids import ExperimentId
from shared.messages.usage import SlotUsageRow

ROOT = UUID(int=7)
EXPERIMENTS = [ExperimentId(uuid5(ROOT, str(number))) for number in range(4)]
USED = st.builds(
    SlotUsageRow,
    workspace=st.sampled_from(["vision", "speech"]),
    experiment=st.sampled_from(EXPERIMENTS),
    slot_seconds=st.floats(0, 1e6),
    cost=st.floats(0, 1e4),
    unpriced_slot_seconds=st.floats(0, 1e6),
)
LABELS = st.dictionaries(
    st.sampled_from(EXPERIMENTS), st.lists(st.sampled_from("abc"), max_size=3, unique=True), max_size=4
)


@given(st.lists(USED, max_size=12), LABELS)
def test_the_parts_add_up_to_the_whole(used: list[SlotUsageRow], labels: dict[UUID, list[str]]) -> None:
    parts = by_label(used, labels, [UsageKey.WORKSPACE])
    for name in SUMS:
        whole = sum(getattr(one, name) for one in used)
        assert abs(sum(getattr(part.used, name) for part in parts) - whole) <= 1e-6 * (1 + whole)
    keys = [(part.label, part.used.workspace) for part in parts]
    assert len(set(keys)) == len(keys)
    assert all(part.used.experiment is None for part in parts), "nobody asked by experiment"


def test_two_labels_share_in_equal_parts_and_none_stands_first() -> None:
    mine, other = EXPERIMENTS[:2]
    used = [
        SlotUsageRow(experiment=mine, slot_seconds=10.0, cost=3.0),
        SlotUsageRow(experiment=other, slot_seconds=4.0),
    ]
    parts = by_label(used, {mine: ["b", "a"]}, [])
    assert [(part.label, part.used.slot_seconds, part.used.cost) for part in parts] == [
        (None, 4.0, 0.0),
        ("a", 5.0, 1.5),
        ("b", 5.0, 1.5),
    ]
