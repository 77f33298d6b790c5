"""`--config key.path=value`: apply single values to a document, in order."""

from collections.abc import Iterable

from pydantic import JsonValue

from muster.config.yaml_reader import Document, Path, read_value
from muster.errors import Rejected


def apply_overrides(document: Document, overrides: Iterable[str]) -> None:
    """Apply each `key.path=value` to `document`. The value is read as YAML; an empty value unsets the key.

    A number in the path indexes a list. Missing mappings on the path are created.

    Raises:
        Rejected: Code `invalid_override`: the text has no `=`, or the path passes through a scalar.
    """
    for override in overrides:
        _apply(document, override)


def _apply(document: Document, override: str) -> None:
    place = f"--config {override.partition('=')[0]}".strip()
    name, equals, text = override.partition("=")
    keys = name.strip().split(".")
    if not equals or not all(keys):
        raise Rejected("invalid_override", f"'{override}' does not have the form key.path=value", place)
    value = read_value(text, place)
    path = _assign(document.root, keys, value, place)
    for known in [known for known in document.positions if known[: len(path)] == path]:
        del document.positions[known]
    document.positions[path] = f"set by {place}"


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
        raise Rejected(
            "invalid_override", f"'{key}' is not an index of this list of {len(node)} items", place
        )
    raise Rejected(
        "invalid_override",
        f"'{key}' cannot be set inside a value that is not a mapping",
        place,
    )
