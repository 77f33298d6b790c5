"""Datasets as configs state them, and their names in lineage."""

import pytest
from hypothesis import given, strategies as st
from pydantic import JsonValue

from services.registry.runs.core.datasets import DATASETS_KEPT, dataset_id, find_datasets, parse_dataset
from shared.messages.lineage import Dataset

DIGITS = Dataset(name="digits", version="3", hash="ab")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ({"name": "digits", "version": 3, "sha256": "ab"}, [DIGITS]),
        ({"train": {"name": "digits", "version": "3", "hash": "ab"}, "workers": 4}, [DIGITS]),
        (
            {"sets": [{"name": "a"}, {"name": "b", "version": 1.5}]},
            [Dataset(name="a"), Dataset(name="b", version="1.5")],
        ),
        ({"train": {"name": "a"}, "test": {"name": "a"}}, [Dataset(name="a")]),
        ({"url": "s3://x", "name": 7}, []),
        ({"name": ""}, []),
        (None, []),
        ({"a": {"b": {"c": {"d": {"name": "too deep"}}}}}, []),
    ],
)
def test_what_has_a_name_is_a_dataset(data: JsonValue, found: list[Dataset]) -> None:
    assert list(find_datasets(data)) == found


def test_a_thousand_are_too_many() -> None:
    assert len(find_datasets([{"name": str(number)} for number in range(1000)])) == DATASETS_KEPT


@given(st.text(min_size=1), st.none() | st.text(min_size=1), st.none() | st.text(min_size=1))
def test_an_id_says_which_it_is(name: str, version: str | None, hashed: str | None) -> None:
    dataset = Dataset(name=name, version=version, hash=hashed)
    assert parse_dataset(dataset_id(dataset)) == dataset


def test_plain_names_stay_readable() -> None:
    assert dataset_id(DIGITS) == "digits@3#ab"
    assert parse_dataset("digits") == Dataset(name="digits")
