"""Webhooks: where events are sent, and what became of each."""

from collections.abc import Sequence

from pydantic import JsonValue

from muster.client import models
from muster.client.awaited import AsyncNoun, awaited, listed
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Query, Reference, Transport, segment

Body = dict[str, JsonValue]


class Webhooks:
    """Addresses that are sent what happens in a tenant, a workspace or a project."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        url: str,
        *,
        events: Sequence[str] = (),
        labels: Sequence[str] = (),
        workspace: str | None = None,
        project: str | None = None,
        form: models.WebhookForm = models.WebhookForm.CLOUDEVENTS,
    ) -> models.CreatedWebhook:
        """Send events to an address from now on; the answer holds the secret that signs them, this one time.

        Args:
            events: Such as `experiment.completed` or `trial.*`; none: all.
            labels: Only of experiments that have one of these.
        """
        body: Body = {"name": name, "url": url, "form": str(form), "events": [*events], "labels": [*labels]}
        body |= _given(workspace=workspace, project=project)
        return self._transport.post(models.CreatedWebhook, "/v1/webhooks", body)

    def list(
        self, workspace: str | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Webhook]:
        """Return the webhooks that one manages, of a workspace or all, the oldest first or as they are sorted; `filter` as `enabled = false or dead > 0`."""
        query: Query = {"workspace": workspace, **ordered(filter, sort)}
        return pages(self._transport, models.WebhookPage, "/v1/webhooks", query)

    def get(self, webhook: Reference) -> models.Webhook:
        """Return one webhook, by name or id."""
        return self._transport.get(models.Webhook, _path(webhook))

    def edit(
        self,
        webhook: Reference,
        *,
        name: str | None = None,
        url: str | None = None,
        form: models.WebhookForm | None = None,
        events: Sequence[str] = (),
        labels: Sequence[str] = (),
        lifted: Sequence[models.WebhookFilter] = (),
        enabled: bool | None = None,
    ) -> models.Webhook:
        """Change a webhook; what is left out stays, and filters that are `lifted` go."""
        body = _given(name=name, url=url, form=form and str(form), enabled=enabled)
        body |= {"events": [*events], "labels": [*labels], "lifted": [str(one) for one in lifted]}
        return self._transport.patch(models.Webhook, _path(webhook), body)

    def delete(self, webhook: Reference) -> None:
        """Take a webhook away, with all that was to be sent to it."""
        self._transport.delete(models.Done, _path(webhook))

    def rotate_secret(self, webhook: Reference, *, overlap_s: int = 86_400) -> models.CreatedWebhook:
        """Make a new secret, which the answer holds this one time; the one before signs beside it for `overlap_s`."""
        body: Body = {"overlap_s": overlap_s}
        return self._transport.post(models.CreatedWebhook, f"{_path(webhook)}/secret/rotate", body)

    def test(self, webhook: Reference) -> models.WebhookDelivery:
        """Send an event that says it is a test, once, and return what came of it."""
        return self._transport.post(models.WebhookDelivery, f"{_path(webhook)}/test", {})

    def deliveries(
        self,
        webhook: Reference,
        state: models.DeliveryState | None = None,
        *,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.WebhookDelivery]:
        """Return what was sent to a webhook, or is to be, the newest first or as they are sorted; `filter` as `status >= 500`."""
        wanted: Query = {"state": None if state is None else str(state), **ordered(filter, sort)}
        return pages(self._transport, models.WebhookDeliveryPage, f"{_path(webhook)}/deliveries", wanted)

    def replay(self, webhook: Reference, delivery: Reference) -> models.WebhookDelivery:
        """Send one delivery again, under the same id."""
        path = f"{_path(webhook)}/deliveries/{segment(delivery)}/replay"
        return self._transport.post(models.WebhookDelivery, path, {})

    def replay_dead(self, webhook: Reference) -> models.WebhookReplay:
        """Send again all that was given up, and return how many deliveries that are."""
        path = f"{_path(webhook)}/deliveries/replay"
        return self._transport.post(models.WebhookReplay, path, {})


class AsyncWebhooks(AsyncNoun[Webhooks]):
    """`Webhooks`, awaited."""

    create = awaited(Webhooks.create)
    list = listed(Webhooks.list)
    get = awaited(Webhooks.get)
    edit = awaited(Webhooks.edit)
    delete = awaited(Webhooks.delete)
    rotate_secret = awaited(Webhooks.rotate_secret)
    test = awaited(Webhooks.test)
    deliveries = listed(Webhooks.deliveries)
    replay = awaited(Webhooks.replay)
    replay_dead = awaited(Webhooks.replay_dead)


def _path(webhook: Reference) -> str:
    return f"/v1/webhooks/{segment(webhook)}"


def _given(**fields: JsonValue) -> Body:
    return {name: value for name, value in fields.items() if value is not None}
