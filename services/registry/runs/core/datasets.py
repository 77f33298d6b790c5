"""Which datasets an experiment's config states under `data:`, and what they are called in a graph of lineage."""

from collections.abc import Iterator, Mapping
from urllib.parse import quote, unquote

from pydantic import JsonValue

from shared.messages.lineage import Dataset

DATASETS_KEPT = 100
_HASHES = ("hash", "sha256", "content_hash")
_DEPTH = 3
_PLAIN = " /:+,~!*'()$&=;?[]"
"""What a name may hold as it is; `@`, `#` and `%` set its parts apart."""


def find_datasets(data: JsonValue) -> tuple[Dataset, ...]:
    """Return each mapping within `data` that has a `name` in words, with its `version` and its `hash` (or `sha256`), in the order of the config.

    `data: {name: digits, version: 3}`, `data: {train: {name: …}, test: {name: …}}` and lists of such mappings are all understood. A
    dataset that stands there twice is one. What else `data` holds belongs to the user's code.
    """
    found = dict.fromkeys(_walk(data, _DEPTH))
    return tuple(found)[:DATASETS_KEPT]


def dataset_id(dataset: Dataset) -> str:
    """Return `name@version#hash`, without the parts that it does not have."""
    version = f"@{quote(dataset.version, safe=_PLAIN)}" if dataset.version else ""
    hashed = f"#{quote(dataset.hash, safe=_PLAIN)}" if dataset.hash else ""
    return quote(dataset.name, safe=_PLAIN) + version + hashed


def parse_dataset(id: str) -> Dataset:
    """Return what an id of `dataset_id` says; parts that are left out are left open."""
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
