"""Operations that create, read, change and delete webhooks."""

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound, Rejected
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.encryption import NONCE_BYTES, seal
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Done
from services.gateway.webhooks import store
from services.gateway.webhooks.core import read_events
from services.gateway.webhooks.posting import check_url
from services.gateway.webhooks.schema import (
    CreatedWebhook,
    CreateWebhookRequest,
    EditWebhookRequest,
    ListWebhooksRequest,
    RotateWebhookSecretRequest,
    Webhook,
    WebhookFilter,
    WebhookForm,
    WebhookPage,
    WebhookRequest,
)
from services.gateway.webhooks.signing import RANDOM_BYTES, render_secret
from shared.ids import new_id

_NEEDED = (Permission.WEBHOOK_MANAGE, Permission.EXPERIMENT_READ, Permission.MODEL_READ)
"""Callers may only send events somewhere that they may read themselves."""


async def create_webhook(call: Call, request: CreateWebhookRequest) -> CreatedWebhook:
    """Create a webhook that sends events of the tenant, a workspace or a project to a URL. Only this response contains the signing secret."""
    place = _place(request)
    _check_place(call, place)
    events, target = read_events(request.events), _target(call, request.url)
    webhook_id, secret = new_id(call.dependencies.clock), render_secret(secrets.token_bytes(RANDOM_BYTES))
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, webhook_id)
        if earlier is not None:
            return CreatedWebhook.model_validate(earlier.response)
        most = call.dependencies.outbound.max_per_tenant
        if await store.count_webhooks(unit.connection) >= most:
            raise Rejected(
                "too_many_webhooks",
                f"there are already {most} webhooks, which is the maximum",
                "name",
                "delete one that you do not need",
            )
        values = {
            "tenant": call.tenant,
            "id": webhook_id,
            "name": request.name,
            "workspace": request.workspace,
            "project": request.project,
            "form": str(request.form),
            "events": events,
            "labels": request.labels,
            "enabled": True,
            "created_at": unit.now,
            "by": call.caller.name,
            "secret": _sealed(call, webhook_id, "secret", secret),
            **_address(call, webhook_id, target),
        }
        if not await store.insert_webhook(unit.connection, values):
            raise _exists(request.name, place)
        row = await webhook_in(unit.connection, str(webhook_id))
        call.set_audit_fields(after=render_webhook(row))
        return await remember(call, unit.connection, _render_with(row, secret))


async def list_webhooks(call: Call, request: ListWebhooksRequest) -> WebhookPage:
    """List the webhooks that the caller manages, oldest first unless `sort` is set."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        found = await store.load_webhooks(connection, request.workspace, wanted)
    return WebhookPage(
        items=[render_webhook(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def get_webhook(call: Call, request: WebhookRequest) -> Webhook:
    """Get one webhook."""
    async with call.read() as connection:
        return render_webhook(await webhook_in(connection, request.webhook))


async def edit_webhook(call: Call, request: EditWebhookRequest) -> Webhook:
    """Change a webhook's filters, URL or format, or disable it. Waiting deliveries use the new URL."""
    async with call.transaction() as unit:
        found = await webhook_in(unit.connection, request.webhook)
        await store.lock_webhook(unit.connection, found.id)
        row = await webhook_in(unit.connection, str(found.id))
        place = Scope(row.workspace, row.project)
        _check_place(call, place)
        check_unchanged(call, render_webhook(row))
        changed = _changes(call, request, row)
        if request.name is not None and not await store.name_is_free(unit.connection, row, request.name):
            raise _exists(request.name, place)
        if changed:
            await store.save_webhook(unit.connection, row.id, changed)
        edited = render_webhook(await webhook_in(unit.connection, str(row.id)))
        call.set_audit_fields(before=render_webhook(row), after=edited)
    return edited


async def delete_webhook(call: Call, request: WebhookRequest) -> Done:
    """Delete a webhook with all of its deliveries."""
    async with call.transaction() as unit:
        row = await webhook_in(unit.connection, request.webhook)
        call.set_audit_fields(before=render_webhook(row))
        await store.delete_webhook(unit.connection, row.id)
    return Done()


async def rotate_secret(call: Call, request: RotateWebhookSecretRequest) -> CreatedWebhook:
    """Replace the signing secret and return the new one, only in this response. The old secret signs too until the overlap ends."""
    secret = render_secret(secrets.token_bytes(RANDOM_BYTES))
    async with call.transaction() as unit:
        row = await webhook_in(unit.connection, request.webhook)
        until = unit.now + timedelta(seconds=request.overlap_s) if request.overlap_s else None
        values = {
            "secret": _sealed(call, row.id, "secret", secret),
            "previous_secret": row.secret if until else None,
            "previous_secret_until": until,
        }
        await store.save_webhook(unit.connection, row.id, values)
        rotated = await webhook_in(unit.connection, str(row.id))
        call.set_audit_fields(before=render_webhook(row), after=render_webhook(rotated))
    return _render_with(rotated, secret)


async def webhook_in(connection: AsyncConnection, reference: str) -> Any:
    """Load a webhook by id or name. Raises NotFound, and Conflict if several scopes have a webhook of that name."""
    found = await store.load_webhooks_named(connection, parse_uuid(reference) or reference)
    if not found:
        raise NotFound(f"webhook {reference}", "`muster webhook list` lists the webhooks")
    if len(found) > 1:
        ids = ", ".join(str(row.id) for row in found)
        raise Conflict(
            "webhook_ambiguous", f"several webhooks have this name: {ids}", hint="use one of the ids"
        )
    return found[0]


def render_webhook(row: Any) -> Webhook:
    """Render a webhook without its URL and secrets."""
    return Webhook(
        id=row.id,
        name=row.name,
        origin=row.origin,
        form=WebhookForm(row.form),
        events=row.events,
        labels=row.labels,
        workspace=row.workspace,
        project=row.project,
        enabled=row.enabled,
        waiting=row.waiting,
        dead=row.dead,
        previous_secret_until=row.previous_secret_until,
        created_at=row.created_at,
        by=row.by,
    )


def _place(request: CreateWebhookRequest) -> Scope:
    if request.project is not None and request.workspace is None:
        raise Rejected("invalid_request", "a project needs its workspace", "workspace", "set `workspace`")
    return Scope(request.workspace, request.project)


def _check_place(call: Call, place: Scope) -> None:
    for permission in _NEEDED:
        call.check_scope(permission, place)


def _changes(call: Call, request: EditWebhookRequest, row: Any) -> Mapping[str, Any]:
    changed: dict[str, Any] = {}
    if request.name is not None:
        changed["name"] = request.name
    if request.url is not None:
        changed |= _address(call, row.id, _target(call, request.url))
    if request.form is not None:
        changed["form"] = str(request.form)
    if request.events or WebhookFilter.EVENTS in request.lifted:
        changed["events"] = read_events(request.events)
    if request.labels or WebhookFilter.LABELS in request.lifted:
        changed["labels"] = request.labels
    if request.enabled is not None:
        changed["enabled"] = request.enabled
    return changed


def _target(call: Call, url: str) -> tuple[str, str]:
    """Return the URL and its origin. Raises Rejected."""
    return url, str(check_url(url, call.dependencies.outbound.networks).origin())


def _address(call: Call, webhook_id: UUID, target: tuple[str, str]) -> Mapping[str, Any]:
    return {"url": _sealed(call, webhook_id, "url", target[0]), "origin": target[1]}


def _sealed(call: Call, webhook_id: UUID, column: str, text: str) -> bytes:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return seal(call.dependencies.keys.webhook, nonce, webhook_id.bytes + column.encode(), text)


def _render_with(row: Any, secret: str) -> CreatedWebhook:
    return CreatedWebhook(**render_webhook(row).model_dump(), secret=secret)


def _exists(name: str, place: Scope) -> Conflict:
    return Conflict("webhook_exists", f"a webhook named {name} already exists in {place}", "name")
