"""Write `muster/client/nouns` from the gateway's table of operations: `python sdk/generate_client.py [--check]`.

Each operation is a method, and each noun a module with its class and the same awaited. Run by `make gen`.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from client_generator.names import WITHOUT_METHOD, in_order, noun_of, unknown
from client_generator.writing import noun_module, nouns_module
from generated import ROOT, formatted, main_of_folder
from services.gateway.platform.operation import Operation
from services.gateway.table import OPERATIONS

CLIENT = ROOT / "sdk/muster/client"
TARGET = CLIENT / "nouns"
HANDWRITTEN = CLIENT / "handwritten"


def generate() -> dict[Path, str]:
    """Return the text of every module: those of nouns that have operations, or hand-written methods alone."""
    if gone := unknown(OPERATIONS):
        raise ValueError(
            f"there are no operations {sorted(gone)}: take them out of `client_generator/names.py`"
        )
    rows: dict[str, list[Operation[Any, Any]]] = defaultdict(list)
    for row in OPERATIONS:
        if row.name not in WITHOUT_METHOD:
            rows[noun_of(row)].append(row)
    handwritten = [path.stem for path in HANDWRITTEN.glob("*.py") if path.stem != "__init__"]
    nouns = in_order([*rows, *handwritten])
    files = {
        TARGET / f"{noun}.py": noun_module(noun, rows[noun], HANDWRITTEN / f"{noun}.py") for noun in nouns
    }
    files[TARGET / "__init__.py"] = nouns_module(nouns)
    return {path: formatted(path, text) for path, text in files.items()}


if __name__ == "__main__":
    sys.exit(main_of_folder(TARGET, generate()))
