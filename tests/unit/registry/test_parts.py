"""Whose files make up a gang's checkpoint, in whatever order its machines speak."""

import pytest

from services.registry.checkpoints.core.shards import awaited_by_chief, awaited_by_member, has_shard


@pytest.mark.parametrize(
    ("said", "worker", "belongs"),
    [(None, "b", True), (("a", "b"), "b", True), (("a", "c"), "b", False)],
)
def test_the_chief_says_whose_files_belong_to_it(
    said: tuple[str, ...] | None, worker: str, belongs: bool
) -> None:
    assert has_shard(said, worker) is belongs


def test_nothing_is_whole_before_the_chief_has_spoken() -> None:
    assert awaited_by_member((), "a", "b", None) == ["a", "b"]
    assert awaited_by_member(("a", "b", "c"), "a", "b", None) == ["a", "b", "c"]
    assert awaited_by_member(("a", "b"), "a", "b", ["a"]) == ["a", "b"]


def test_what_was_committed_before_the_chief_spoke_is_not_waited_for_again() -> None:
    assert awaited_by_chief(("a",), "a", (), ()) == ["a"]
    assert awaited_by_chief(("a", "b", "c"), "a", (), ()) == ["a", "b", "c"]
    assert awaited_by_chief(("a", "c"), "a", ("c",), ("a",)) == ["a"]
    assert awaited_by_chief(("a", "c"), "a", ("c",), ("a", "c")) == ["a", "c"]
    assert awaited_by_chief(("a", "c"), "a", ("a", "c"), ("c",)) == ["a", "c"], "it sends anew"
