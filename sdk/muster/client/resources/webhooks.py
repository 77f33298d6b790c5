"""Webhooks, which send events of a tenant, workspace or project to other systems, and their deliveries.

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
    """Webhooks, which send events of a tenant, workspace or project to other systems, and their deliveries."""

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
        """Create a webhook that sends events of the tenant, a workspace or a project to a URL. Only this response contains the signing secret.

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
        """List the webhooks that the caller manages, oldest first unless `sort` is set.

        Args:
            filter: An expression over `name`, `origin`, `form`, `events`, `labels`, `workspace`, `project`,
                `enabled`, `waiting`, `dead`, `created_at`, `by`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.WebhookPage,
            "/v1/webhooks",
            query_params(workspace=workspace, filter=filter, sort=sort),
        )

    def get(self, webhook: Reference) -> models.Webhook:
        """Get one webhook."""
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
        """Change a webhook's filters, URL or format, or disable it. Waiting deliveries use the new URL.

        Args:
            form: One of cloudevents, slack or alertmanager.
            lifted: Filters to clear. Any of events or labels.
            enabled: False: send nothing. Events that happen while the webhook is disabled are never sent.
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
        """Delete a webhook with all of its deliveries."""
        self._transport.delete(models.Done, f"/v1/webhooks/{segment(webhook)}")

    def rotate_secret(self, webhook: Reference, *, overlap_s: int = 86400) -> models.CreatedWebhook:
        """Replace the signing secret and return the new one, only in this response. The old secret signs too until the overlap ends."""
        return self._transport.post(
            models.CreatedWebhook,
            f"/v1/webhooks/{segment(webhook)}/secret/rotate",
            json_body(overlap_s=overlap_s),
        )

    def test(self, webhook: Reference) -> models.WebhookDelivery:
        """Send one test event to a webhook, without retries, and return the result."""
        return self._transport.post(models.WebhookDelivery, f"/v1/webhooks/{segment(webhook)}/test")

    def deliveries(
        self, webhook: Reference, state: str | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.WebhookDelivery]:
        """List the deliveries of a webhook, newest first unless `sort` is set.

        Args:
            state: One of waiting, delivered or dead.
            filter: An expression over `type`, `state`, `attempts`, `is_test`, `status`, `error`, `created_at`,
                `ended_at`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.WebhookDeliveryPage,
            f"/v1/webhooks/{segment(webhook)}/deliveries",
            query_params(state=state, filter=filter, sort=sort),
        )

    def replay(self, webhook: Reference, delivery: Reference) -> models.WebhookDelivery:
        """Send a delivery again, with the same id."""
        return self._transport.post(
            models.WebhookDelivery, f"/v1/webhooks/{segment(webhook)}/deliveries/{segment(delivery)}/replay"
        )

    def replay_dead(self, webhook: Reference) -> models.WebhookReplay:
        """Send all dead deliveries of a webhook again."""
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
