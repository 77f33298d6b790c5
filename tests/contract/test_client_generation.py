"""The names of generated methods: a new resource needs its rows alone."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.operation import Idempotency, Operation, Verb
from services.gateway.platform.schema import Request, Resource

ROOT = Path(__file__).resolve().parents[2]


class SecretRequest(Request):
    secret: str = ""
    experiment: str = ""
    trial: str = ""


class Secret(Resource):
    name: str


async def handler(call: object, request: BaseModel) -> Secret:
    """Does something."""
    raise NotImplementedError


@pytest.mark.parametrize(
    ("name", "verb", "path", "resource", "method"),
    [
        ("ListSecrets", "GET", "/v1/secrets", "secrets", "list"),
        ("GetSecret", "GET", "/v1/secrets/{secret}", "secrets", "get"),
        ("RotateSecret", "POST", "/v1/secrets/{secret}/rotate", "secrets", "rotate"),
        ("ListSecretVersions", "GET", "/v1/secrets/{secret}/versions", "secrets", "versions"),
        ("ListAccessKeys", "GET", "/v1/access-keys", "access_keys", "list"),
        ("ListExperimentNotes", "GET", "/v1/experiments/{experiment}/notes", "experiments", "notes"),
        ("PauseExperiment", "POST", "/v1/experiments/{experiment}/pause", "experiments", "pause"),
        ("ListTrialMedia", "GET", "/v1/trials/{trial}/media", "media", "list"),
        ("SetModelAlias", "PUT", "/v1/models/{secret}/aliases/{experiment}", "models", "set_alias"),
    ],
)
def test_resource_and_method_follow_from_name_and_path(
    monkeypatch: pytest.MonkeyPatch, name: str, verb: Verb, path: str, resource: str, method: str
) -> None:
    monkeypatch.syspath_prepend(ROOT / "sdk")
    from client_generator.names import method_of, resource_of

    row = Operation(name, verb, path, SecretRequest, Secret, Permission.SELF, Idempotency.NATURAL, handler)
    assert (resource_of(row), method_of(row)) == (resource, method)
