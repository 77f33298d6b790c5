"""Formatting of webhooks and deliveries."""

from typing import TYPE_CHECKING

from muster.cli.access.render import scope_of

if TYPE_CHECKING:
    from muster.client.models import Webhook, WebhookDelivery


def webhook_facts(found: "Webhook") -> list[tuple[str, object]]:
    """Return the settings and the state of a webhook."""
    signs = found.previous_secret_until
    return [
        ("name", found.name),
        ("id", found.id),
        ("destination", f"{found.origin}, as {found.form}"),
        ("scope", scope_of(found.workspace, found.project)),
        ("events", ", ".join(found.events) or "all"),
        ("labels", ", ".join(found.labels) or None),
        ("state", state_of(found)),
        ("waiting", found.waiting),
        ("dead", found.dead),
        ("old secret", signs and f"signs until {signs:%m-%d %H:%M}"),
    ]


def state_of(found: "Webhook") -> str:
    """Return `enabled` or `disabled`."""
    return "enabled" if found.enabled else "disabled"


def delivery_result(found: "WebhookDelivery") -> str | None:
    """Return the error or the response status of a delivery."""
    return found.error or (None if found.status is None else f"status {found.status}")
