"""Who may still change state."""

import pytest

from services.registry.core.fencing import Effect, Ending, Fence, is_allowed, is_stale


@pytest.mark.parametrize(
    ("fence", "stale"),
    [
        (Fence(5, 5), False),
        (Fence(5, 5, Ending.ordinary), False),
        (Fence(5, 5, Ending.lost), True),
        (Fence(5, 5, Ending.forced), True),
        (Fence(5, 6), True),
        (Fence(5, 6, Ending.ordinary), True),
    ],
)
def test_a_token_is_stale_after_a_later_one_or_a_hard_end(fence: Fence, stale: bool) -> None:
    assert is_stale(fence) is stale


@pytest.mark.parametrize("effect", list(Effect))
def test_a_stale_token_still_stores_points_and_logs_and_nothing_else(
    effect: Effect,
) -> None:
    assert is_allowed(Fence(1, 2), effect) is (effect in (Effect.points, Effect.logs))
    assert is_allowed(Fence(2, 2), effect)
