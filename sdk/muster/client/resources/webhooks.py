"""Addresses that are sent what happens in a tenant, a workspace or a project, and what became of each event.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Webhooks(APIResource):
    """Addresses that are sent what happens in a tenant, a workspace or a project, and what became of each event."""

    def create(
        self,
        name: str,
        url: str,
        *,
        form: str = models.WebhookForm.CLOUDEVENTS,
        events: Sequence[str] = (),
        labels: Sequence[str] = (),
        workspace: str | None = None,
        project: str | None = None,
    ) -> models.CreatedWebhook:
        """Sends events of a place to an address from now on; shows the secret that signs them, this one time.

        Args:
            form: One of cloudevents, slack or alertmanager.
        """
        return self._transport.post(
            models.CreatedWebhook,
            "/v1/webhooks",
            json_body(
                name=name,
                url=url,
                form=form,
                events=events,
                labels=labels,
                workspace=workspace,
                project=project,
            ),
        )

    def list(
        self, workspace: str | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Webhook]:
        """Lists the webhooks that the caller manages, the oldest first or as they are sorted.

        Args:
            filter: An expression over `name`, `origin`, `form`, `events`, `labels`, `workspace`, `project`,
                `enabled`, `waiting`, `dead`, `created_at`, `by`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.WebhookPage,
            "/v1/webhooks",
            query_params(workspace=workspace, filter=filter, sort=sort),
        )

    def get(self, webhook: Reference) -> models.Webhook:
        """Shows one webhook."""
        return self._transport.get(models.Webhook, f"/v1/webhooks/{segment(webhook)}")

    def edit(
        self,
        webhook: Reference,
        *,
        name: str | None = None,
        url: str | None = None,
        form: str | None = None,
        events: Sequence[str] = (),
        labels: Sequence[str] = (),
        lifted: Sequence[str] = (),
        enabled: bool | None = None,
    ) -> models.Webhook:
        """Changes what a webhook is told, where that is sent, or whether; deliveries that wait go where it leads then.

        Args:
            form: One of cloudevents, slack or alertmanager.
            lifted: These filters go: it hears all events, or of all labels. Any of events or labels.
            enabled: False: nothing is sent, and what happens meanwhile never will be.
        """
        return self._transport.patch(
            models.Webhook,
            f"/v1/webhooks/{segment(webhook)}",
            json_body(
                name=name,
                url=url,
                form=form,
                events=events or None,
                labels=labels or None,
                lifted=lifted or None,
                enabled=enabled,
            ),
        )

    def delete(self, webhook: Reference) -> None:
        """Takes a webhook away, with all that was to be sent to it."""
        self._transport.delete(models.Done, f"/v1/webhooks/{segment(webhook)}")

    def rotate_secret(self, webhook: Reference, *, overlap_s: int = 86400) -> models.CreatedWebhook:
        """Makes a new secret and shows it, this one time; the one before signs beside it until the overlap is over."""
        return self._transport.post(
            models.CreatedWebhook,
            f"/v1/webhooks/{segment(webhook)}/secret/rotate",
            json_body(overlap_s=overlap_s),
        )

    def test(self, webhook: Reference) -> models.WebhookDelivery:
        """Sends a webhook an event that says it is a test, once, and tells what came of it."""
        return self._transport.post(models.WebhookDelivery, f"/v1/webhooks/{segment(webhook)}/test")

    def deliveries(
        self, webhook: Reference, state: str | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.WebhookDelivery]:
        """Lists what was sent to a webhook, or is to be, the newest first or as they are sorted.

        Args:
            state: One of waiting, delivered or dead.
            filter: An expression over `type`, `state`, `attempts`, `is_test`, `status`, `error`, `created_at`,
                `ended_at`.
            sort: Up to four of these fields separated by commas, the greatest first behind `-`.
        """
        return pages(
            self._transport,
            models.WebhookDeliveryPage,
            f"/v1/webhooks/{segment(webhook)}/deliveries",
            query_params(state=state, filter=filter, sort=sort),
        )

    def replay(self, webhook: Reference, delivery: Reference) -> models.WebhookDelivery:
        """Sends one delivery again, under the same id."""
        return self._transport.post(
            models.WebhookDelivery, f"/v1/webhooks/{segment(webhook)}/deliveries/{segment(delivery)}/replay"
        )

    def replay_dead(self, webhook: Reference) -> models.WebhookReplay:
        """Sends again all deliveries of a webhook that were given up."""
        return self._transport.post(
            models.WebhookReplay, f"/v1/webhooks/{segment(webhook)}/deliveries/replay"
        )


class AsyncWebhooks(AsyncAPIResource[Webhooks]):
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
