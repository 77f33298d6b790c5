"""Fault points: what is set happens at the passing that was named, and at no other."""

from collections.abc import Iterator

import pytest

from shared.errors import Broken
from shared.runtime import faults


@pytest.fixture(autouse=True)
def nothing_set() -> Iterator[None]:
    yield
    faults.configure("")


def test_a_point_acts_at_its_passing_only() -> None:
    faults.configure("somewhere:2:raise")
    faults.point("somewhere")
    with pytest.raises(Broken, match="somewhere"):
        faults.point("somewhere")
    faults.point("somewhere")


def test_points_are_counted_apart() -> None:
    faults.configure("one:1:delay:0,two:2:raise")
    faults.point("one")
    faults.point("two")
    with pytest.raises(Broken, match="two"):
        faults.point("two")


def test_an_unset_point_does_nothing() -> None:
    faults.configure("")
    faults.point("somewhere")


def test_registered_names_can_be_enumerated() -> None:
    assert faults.register("test.a_point") == "test.a_point"
    assert "test.a_point" in faults.names()


@pytest.mark.parametrize("text", ["somewhere", "somewhere:2", "somewhere:x:kill", "somewhere:1:explode"])
def test_what_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        faults.configure(text)
