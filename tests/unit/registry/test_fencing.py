"""Who may still change state."""

import pytest

from services.registry.runs.core.fencing import Fence, RunEnding


@pytest.mark.parametrize(
    ("fence", "stale"),
    [
        (Fence(5, 5), False),
        (Fence(5, 5, RunEnding.ordinary), False),
        (Fence(5, 5, RunEnding.lost), True),
        (Fence(5, 5, RunEnding.forced), True),
        (Fence(5, 6), True),
        (Fence(5, 6, RunEnding.ordinary), True),
    ],
)
def test_a_token_is_stale_after_a_later_one_or_a_hard_end(fence: Fence, stale: bool) -> None:
    assert fence.is_stale is stale
