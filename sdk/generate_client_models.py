"""Write `muster/client/models.py` from the gateway's API types: `python sdk/generate_client_models.py [--check]`.

The resources' sources are copied by name, so both sides are the same text; requests stay behind,
because the client builds them itself and the gateway checks them. Run by `make gen`.
"""

import ast
import sys

from generated import ROOT, formatted, main_of

SOURCE = ROOT / "services/gateway"
TARGET = ROOT / "sdk/muster/client/models.py"

HEADER = '''"""What the platform answers. Generated from the gateway's API types by `make gen`: change those."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

JsonObject = dict[str, JsonValue]
"""What users own: configs, hyperparameters, metadata."""


class Resource(BaseModel):
    """What a caller is shown; fields of a newer platform are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)
'''
BASES = {"Resource", "StrEnum"}


def generate() -> str:
    """Return the module's text: every enum and resource of the API, in the order of the files."""
    kept: dict[str, str] = {}
    for path in sorted(SOURCE.glob("*/schema.py")):
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and node.name != "Resource" and _is_resource(node, kept):
                # Who reads an answer leaves nothing out of it.
                kept[node.name] = (ast.get_source_segment(text, node) or "").replace(
                    " exclude_if=is_none,", ""
                )
    body = "\n\n\n".join(kept[name] for name in _ordered(kept))
    return formatted(TARGET, f"{HEADER}\n\n{body}\n")


def _is_resource(node: ast.ClassDef, kept: dict[str, str]) -> bool:
    return any(isinstance(base, ast.Name) and (base.id in BASES or base.id in kept) for base in node.bases)


def _ordered(kept: dict[str, str]) -> list[str]:
    """Return the names so that each class follows those that it mentions."""
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
