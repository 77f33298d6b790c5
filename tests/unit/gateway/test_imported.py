"""Who asks for a version that was taken over from Determined is told where it lies."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from muster.importing import plan_import, read_dumps
from services.gateway.models.determined_import import determined_hint
from tests.unit.sdk.test_importing import CONFIG, MODEL, version

VERSION: JsonValue = {
    "version": 3,
    "name": "gold",
    "checkpoint": {"uuid": "c-3", "address": "s3://bucket/prefix/c-3"},
}


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (
            "3",
            "version 3 was not imported from Determined: its checkpoint is at s3://bucket/prefix/c-3; load it in a script",
        ),
        ("gold", "s3://bucket/prefix/c-3"),
        ("2", "version 2 was not imported from Determined: its checkpoint c-2 was not found in its store"),
        ("1", "its checkpoint is unknown"),
        ("latest", "version 3 was not imported from Determined"),
    ],
)
def test_a_version_of_determined_is_told_with_its_checkpoint(reference: str, said: str) -> None:
    versions: JsonValue = [{"version": 1}, {"version": 2, "checkpoint": {"uuid": "c-2"}}, VERSION]
    assert said in (determined_hint({"determined": {"versions": versions}}, reference) or "")


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"determined": 1},
        {"determined": {}},
        {"determined": {"versions": [1, {}]}},
        {"other": {"versions": [VERSION]}},
    ],
)
@pytest.mark.parametrize("reference", ["4", "champion"])
def test_of_another_nothing_is_said(metadata: dict[str, object], reference: str) -> None:
    assert determined_hint(metadata, reference) is None  # type: ignore[arg-type]


def test_what_the_import_writes_is_what_is_read(tmp_path: Path) -> None:
    versions = [version(number, f"c-{number}", CONFIG["checkpoint_storage"]) for number in (9, 10)]
    (tmp_path / "versions.json").write_text(json.dumps({"model": MODEL, "modelVersions": versions}))
    (made,) = plan_import(read_dumps([tmp_path]), lambda bucket, key: True).models
    assert "version 10 was not imported from Determined: its checkpoint is at s3://ckpts/p/c-10" in (
        determined_hint(made.metadata, "latest") or ""
    )
    assert "s3://ckpts/p/c-9" in (determined_hint(made.metadata, "v9") or "")
