"""The client's calls and models say what the gateway's operations and API types say, and the config's page what the schema says."""

import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

import muster.client.models as mirrored
from services.gateway.operation_table import OPERATIONS

ROOT = Path(__file__).resolve().parents[2]
RESPONSES = sorted({row.response for row in OPERATIONS}, key=lambda model: model.__name__)


@pytest.mark.parametrize(
    "script",
    [
        "generate_client.py",
        "generate_client_models.py",
        "generate_config_reference.py",
        "generate_determined_page.py",
    ],
)
def test_the_generated_file_is_fresh(script: str) -> None:
    command = [sys.executable, f"sdk/{script}", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("response", RESPONSES, ids=lambda model: model.__name__)
def test_every_answer_has_the_same_schema_on_both_sides(response: type[BaseModel]) -> None:
    ours = getattr(mirrored, response.__name__)
    assert ours.model_json_schema() == response.model_json_schema()
