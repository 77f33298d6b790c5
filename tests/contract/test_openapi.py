"""The OpenAPI document is one that other tools take: generators of clients, Postman, API gateways."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openapi_spec_validator import OpenAPIV31SpecValidator

ROOT = Path(__file__).resolve().parents[2]
VERBS = {"get", "put", "post", "patch", "delete"}


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text())
    return found


def operations(found: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in found["paths"].items():
        for verb in VERBS & item.keys():
            yield path, verb, item[verb]


def test_it_is_valid_openapi_3_1() -> None:
    assert [str(error) for error in OpenAPIV31SpecValidator(document()).iter_errors()] == []


def test_a_broken_one_would_be_seen() -> None:
    found = document()
    next(operations(found))[2]["responses"] = {"ok": "yes"}
    assert list(OpenAPIV31SpecValidator(found).iter_errors())


def test_what_importers_ask_beyond_that_holds() -> None:
    """Postman and generators of clients name requests by id or summary, fill in parameters, and follow references within the document only."""
    found = document()
    ids = [operation.get("operationId") for _, _, operation in operations(found)]
    assert None not in ids and len(ids) == len(set(ids))
    assert [ids for path, verb, operation in operations(found) if not operation.get("summary")] == []
    for path, verb, operation in operations(found):
        told = {one["name"] for one in operation.get("parameters", []) if one.get("in") == "path"}
        assert told == set(re.findall(r"{(\w+)}", path)), (verb, path)
        assert any(status.startswith("2") for status in operation["responses"]), (verb, path)
        for scheme in [name for one in operation.get("security", []) for name in one]:
            assert scheme in found["components"]["securitySchemes"], (verb, path)
    references = re.findall(r'"\$ref": "([^"]+)"', json.dumps(found))
    assert references and all(reference.startswith("#/") for reference in references)
