"""Datasets that an experiment's config names under `data:`, and their ids in the lineage graph."""

from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote

from pydantic import JsonValue

from shared.messages.lineage import Dataset

DATASETS_KEPT = 100
_HASHES = ("hash", "sha256", "content_hash")
_DEPTH = 3
_PLAIN = " /:+,~!*'()$&=;?[]"
"""Characters that a name may contain unescaped; `@`, `#` and `%` separate its parts."""


def find_datasets(data: JsonValue) -> tuple[Dataset, ...]:
    """Return each mapping within `data` that has a text `name`, with its `version` and its `hash` (or `sha256`), in the order of the config.

    `data: {name: digits, version: 3}`, `data: {train: {name: …}, test: {name: …}}` and lists of such mappings are supported. Repeated
    datasets are returned once. Everything else in `data` belongs to the user's code.
    """
    found = dict.fromkeys(_walk(data, _DEPTH))
    return tuple(found)[:DATASETS_KEPT]


def dataset_id(dataset: Dataset) -> str:
    """Return `name@version#hash`, without missing parts."""
    version = f"@{quote(dataset.version, safe=_PLAIN)}" if dataset.version else ""
    hashed = f"#{quote(dataset.hash, safe=_PLAIN)}" if dataset.hash else ""
    return quote(dataset.name, safe=_PLAIN) + version + hashed


def parse_dataset(id: str) -> Dataset:
    """Return the dataset of an id from `dataset_id`; missing parts are None."""
    rest, _, hashed = id.partition("#")
    name, _, version = rest.partition("@")
    return Dataset(name=unquote(name), version=unquote(version) or None, hash=unquote(hashed) or None)


def _walk(data: JsonValue, depth: int) -> Iterator[Dataset]:
    if isinstance(data, dict):
        if isinstance(data.get("name"), str) and data["name"]:
            yield _dataset(data)
            return
        inner = list(data.values())
    elif isinstance(data, list):
        inner = data
    else:
        return
    if depth:
        for one in inner:
            yield from _walk(one, depth - 1)


def _dataset(data: Mapping[str, JsonValue]) -> Dataset:
    version, hashed = data.get("version"), next((data[key] for key in _HASHES if data.get(key)), None)
    return Dataset(
        name=str(data["name"]),
        version=str(version) if isinstance(version, str | int | float) else None,
        hash=hashed if isinstance(hashed, str) else None,
    )
