"""Operations on the secrets of a workspace. They take `secret.manage` in the whole workspace; none returns a value."""

from typing import Any

from muster.errors import NotFound, Rejected
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, SAFE, SECRETS
from services.gateway.platform.schema import Done
from services.gateway.user_secrets import store
from services.gateway.user_secrets.core import SecretId
from services.gateway.user_secrets.envelopes import seal
from services.gateway.user_secrets.schema import (
    MAX_VALUE_BYTES,
    MIN_VALUE_CHARS,
    ListSecretsRequest,
    Secret,
    SecretRequest,
    Secrets,
    SetSecretRequest,
)


async def list_secrets(call: Call, request: ListSecretsRequest) -> Secrets:
    """List the secrets of a workspace, without their values."""
    _check_workspace(call, request.workspace)
    async with call.read() as connection:
        rows = await store.load_secrets(connection, request.workspace)
    return Secrets(items=[_render(row) for row in rows])


async def set_secret(call: Call, request: SetSecretRequest) -> Secret:
    """Create a secret or replace its value. Runs that start afterwards get the new value; no response contains it."""
    _check_workspace(call, request.workspace)
    _check_value(request.secret_value)
    secret = SecretId(call.tenant, request.workspace, request.secret)
    keys, most = call.dependencies.secrets.keys, call.dependencies.secrets.max_per_workspace
    envelope = await seal(keys, secret, request.secret_value)
    async with call.transaction() as unit:
        await store.lock_workspace(unit.connection, secret)
        known = {row.name: row for row in await store.load_secrets(unit.connection, request.workspace)}
        if request.secret not in known and len(known) >= most:
            raise Rejected(
                "too_many_secrets",
                f"workspace '{request.workspace}' already has {most} secrets, which is the maximum",
                "secret",
                "delete one that no experiment uses",
            )
        values: dict[str, Any] = {
            "tenant": secret.tenant,
            "workspace": secret.workspace,
            "name": secret.name,
            "key_id": envelope.key_id,
            "wrapped_key": envelope.wrapped_key,
            "sealed_value": envelope.sealed_value,
            "created_at": unit.now,
            "changed_at": unit.now,
            "by": call.caller.name,
        }
        saved = _render(await store.save_secret(unit.connection, values))
        before = _render(known[request.secret]) if request.secret in known else None
        call.set_audit_fields(before=before, after=saved)
    return saved


async def delete_secret(call: Call, request: SecretRequest) -> Done:
    """Delete a secret. Runs that reference it and start afterwards fail; running ones keep their value."""
    _check_workspace(call, request.workspace)
    async with call.transaction() as unit:
        secret = SecretId(call.tenant, request.workspace, request.secret)
        row = await store.delete_secret(unit.connection, secret)
        if row is None:
            raise NotFound(
                f"secret {request.secret} of workspace {request.workspace}",
                "`muster secret list --workspace WORKSPACE` lists the secrets of a workspace",
            )
        call.set_audit_fields(before=_render(row))
    return Done()


def _check_workspace(call: Call, workspace: str) -> None:
    """Raise NotFound if the caller may not manage the secrets of the whole workspace, whether or not it exists."""
    if not call.caller.grants.holds(Permission.SECRET_MANAGE, Scope(workspace)):
        raise NotFound(
            f"workspace {workspace}",
            "managing its secrets takes the permission secret.manage in the whole workspace",
        )


def _check_value(value: str) -> None:
    if len(value) < MIN_VALUE_CHARS:
        raise Rejected(
            "invalid_value",
            f"the value has {len(value)} characters; it needs at least {MIN_VALUE_CHARS}, because hiding a shorter one would hide ordinary words in logs",
            "secret_value",
            "set values that are not secret in `environment.environment_variables`",
        )
    size_bytes = len(value.encode())
    if size_bytes > MAX_VALUE_BYTES:
        raise Rejected(
            "invalid_value",
            f"the value has {size_bytes} bytes; the maximum is {MAX_VALUE_BYTES}",
            "secret_value",
            "store large files in object storage, and only their key as a secret",
        )


def _render(row: Any) -> Secret:
    return Secret.model_validate(row._mapping)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("ListSecrets", "GET", "/v1/workspaces/{workspace}/secrets", ListSecretsRequest, Secrets, SECRETS, SAFE, list_secrets),
    Operation("SetSecret", "PUT", "/v1/workspaces/{workspace}/secrets/{secret}", SetSecretRequest, Secret, SECRETS, NATURAL, set_secret),
    Operation("DeleteSecret", "DELETE", "/v1/workspaces/{workspace}/secrets/{secret}", SecretRequest, Done, SECRETS, NATURAL, delete_secret),
)
# fmt: on
