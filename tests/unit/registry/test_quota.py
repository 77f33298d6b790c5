"""How much a tenant may store."""

import pytest

from services.registry.core.metadata import METADATA_BYTES, merge_metadata, refuse_metadata
from services.registry.storage.limits import refuse_growth


@pytest.mark.parametrize(
    ("used", "more", "maximum", "is_refused"),
    [
        (0, 10, None, False),
        (0, 10, 10, False),
        (0, 11, 10, True),
        (10, 1, 10, True),
        (20, 0, 10, False),
        (20, 1, 10, True),
        (0, 0, 0, False),
    ],
)
def test_growth_ends_at_the_maximum(used: int, more: int, maximum: int | None, is_refused: bool) -> None:
    assert (refuse_growth(used, more, maximum) is not None) == is_refused


def test_the_refusal_says_what_is_used_what_is_allowed_and_what_to_do() -> None:
    refusal = refuse_growth(9_870_000_000, 512_000_000, 10_000_000_000)
    assert refusal is not None and refusal.code == "storage_full"
    assert "stores 9.87 GB of the 10 GB" in refusal.reason and "needs 512 MB more" in refusal.reason
    assert "muster checkpoint collect" in refusal.reason


def test_what_a_config_or_a_script_said_stays_unless_it_is_named() -> None:
    assert merge_metadata({"a": 1, "b": {"c": 2}, "n": None}, {"b": {"d": 3}, "a": None}) == {
        "b": {"d": 3},
        "n": None,
    }


def test_metadata_has_a_size_and_no_nul_but_numbers_as_long_as_seeds_are() -> None:
    assert refuse_metadata({"entropy": 2**127, "name": "größer"}) is None
    for unfit in ("y" * METADATA_BYTES, "\x00"):
        refusal = refuse_metadata({"x": unfit})
        assert refusal is not None and refusal.code == "metadata_unfit"
