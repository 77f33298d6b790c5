"""Write `muster/client/models.py` from the gateway's API types: `python sdk/generate_client_models.py [--check]`.

Resources are copied by name, so that both sides have the same text. Requests are omitted, because the client builds them
itself and the gateway validates them. Run by `make gen`.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from generated import ROOT, formatted, main_of

SOURCE = ROOT / "services/gateway"
PACKAGE = "services.gateway."
TARGET = ROOT / "sdk/muster/client/models.py"

HEADER = '''"""Resources of the platform's API. Generated from the gateway's API types by `make gen`; do not edit."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

JsonObject = dict[str, JsonValue]
"""User-owned content: configs, hyperparameters, metadata."""


class Resource(BaseModel):
    """Base class of API resources; fields of a newer platform are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)
'''
BASES = {"Resource", "StrEnum"}


def generate() -> str:
    """Return the text of the module: every enum and resource of the API, in file order."""
    kept: dict[str, str] = {}
    for path in sorted(SOURCE.glob("**/schema.py")):
        tree = ast.parse(path.read_text())
        for module, names in _elsewhere(tree):
            _keep(ROOT / f"{module.replace('.', '/')}.py", kept, names)
        _keep(path, kept)
    body = "\n\n\n".join(kept[name] for name in _ordered(kept))
    return formatted(TARGET, f"{HEADER}\n\n{body}\n")


def _elsewhere(schema: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Yield the gateway modules other than schemas from which a schema imports names: enums of its core."""
    for node in schema.body:
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and module.startswith(PACKAGE) and not module.endswith(".schema"):
            yield module, {alias.name for alias in node.names}


def _keep(path: Path, kept: dict[str, str], names: set[str] | None = None) -> None:
    """Add the enums and resources of a file to `kept`, or only those in `names`."""
    text = path.read_text()
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ClassDef) or node.name == "Resource" or node.name in kept:
            continue
        if (names is None or node.name in names) and _is_resource(node, kept):
            # Omission of None is the gateway's matter when it writes; a reader accepts all fields.
            kept[node.name] = _fields(text, node).replace(" exclude_if=is_none,", "")


def _fields(text: str, node: ast.ClassDef) -> str:
    """Return a class without its methods, which belong to the gateway."""
    lines = text.splitlines()
    for method in node.body:
        if isinstance(method, ast.FunctionDef):
            lines[method.lineno - 1 : method.end_lineno] = [""] * len(
                lines[method.lineno - 1 : method.end_lineno]
            )
    return "\n".join(lines[node.lineno - 1 : node.end_lineno])


def _is_resource(node: ast.ClassDef, kept: dict[str, str]) -> bool:
    return any(isinstance(base, ast.Name) and (base.id in BASES or base.id in kept) for base in node.bases)


def _ordered(kept: dict[str, str]) -> list[str]:
    """Return the names sorted so that each class follows the classes that it mentions."""
    done: list[str] = []

    def add(name: str) -> None:
        if name in done:
            return
        for node in ast.walk(ast.parse(kept[name])):
            if isinstance(node, ast.Name) and node.id in kept and node.id != name:
                add(node.id)
        done.append(name)

    for name in kept:
        add(name)
    return done


if __name__ == "__main__":
    sys.exit(main_of(TARGET, generate()))
