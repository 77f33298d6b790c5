"""`--config key.path=value`: single values laid over a document, in the order given."""

from collections.abc import Iterable

from pydantic import JsonValue

from muster.config.yaml_reader import Document, Path, read_value
from muster.errors import Rejected


def apply_overrides(document: Document, overrides: Iterable[str]) -> None:
    """Lay each `key.path=value` over `document`; the value is read as YAML, an empty one unsets the key.

    A number in the path is an index where a list stands. Missing mappings on the way are made.

    Raises:
        Rejected: code `invalid_override`, when the text has no `=` or the path leads through a scalar.
    """
    for override in overrides:
        _apply(document, override)


def _apply(document: Document, override: str) -> None:
    place = f"--config {override.partition('=')[0]}".strip()
    name, equals, text = override.partition("=")
    keys = name.strip().split(".")
    if not equals or not all(keys):
        raise Rejected("invalid_override", f"'{override}' is not key.path=value", place)
    value = read_value(text, place)
    path = _assign(document.root, keys, value, place)
    for known in [known for known in document.places if known[: len(path)] == path]:
        del document.places[known]
    document.places[path] = f"given by {place}"


def _assign(root: dict[str, JsonValue], keys: list[str], value: JsonValue, place: str) -> Path:
    node: JsonValue = root
    path: Path = ()
    for key in keys[:-1]:
        step = _step(node, key, place)
        if isinstance(node, list):
            node = node[int(step)]
        elif isinstance(node, dict):
            if node.get(key) is None:
                node[key] = {}
            node = node[key]
        path = (*path, step)
    step = _step(node, keys[-1], place)
    if isinstance(node, list):
        node[int(step)] = value
    elif isinstance(node, dict):
        node[keys[-1]] = value
    return (*path, step)


def _step(node: JsonValue, key: str, place: str) -> str | int:
    if isinstance(node, dict):
        return key
    if isinstance(node, list):
        if key.isdecimal() and int(key) < len(node):
            return int(key)
        raise Rejected("invalid_override", f"'{key}' is no index of a list of {len(node)}", place)
    raise Rejected(
        "invalid_override",
        f"'{key}' would stand inside a value that is no mapping",
        place,
    )
