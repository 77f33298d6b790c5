"""Write `muster/client/resources` from the gateway's table of operations: `python sdk/generate_client.py [--check]`.

Each operation becomes a method, and each resource a module with a synchronous and an asynchronous class. Run by `make gen`.
"""

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from client_generator.names import WITHOUT_METHOD, resource_of, sorted_resources, unknown_operations
from client_generator.writing import resource_module, resources_module
from generated import ROOT, formatted, main_of_folder
from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.operation import Operation

CLIENT = ROOT / "sdk/muster/client"
TARGET = CLIENT / "resources"
HANDWRITTEN = CLIENT / "handwritten"


def generate() -> dict[Path, str]:
    """Return the text of every module."""
    if unknown := unknown_operations(OPERATIONS):
        raise ValueError(
            f"unknown operations {sorted(unknown)}: remove them from `client_generator/names.py`"
        )
    rows: dict[str, list[Operation[Any, Any]]] = defaultdict(list)
    for row in OPERATIONS:
        if row.name not in WITHOUT_METHOD:
            rows[resource_of(row)].append(row)
    handwritten = [path.stem for path in HANDWRITTEN.glob("*.py") if path.stem != "__init__"]
    resources = sorted_resources([*rows, *handwritten])
    files = {
        TARGET / f"{resource}.py": resource_module(resource, rows[resource], HANDWRITTEN / f"{resource}.py")
        for resource in resources
    }
    files[TARGET / "__init__.py"] = resources_module(resources)
    return {path: formatted(path, text) for path, text in files.items()}


if __name__ == "__main__":
    sys.exit(main_of_folder(TARGET, generate()))
