"""Requests and responses for webhooks and their deliveries."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import Labels, ListRequest, Name, Reference, Request, Resource
from services.gateway.roles.schema import PlaceName
from shared.filters.fields import Listing

Url = Annotated[str, Field(min_length=8, max_length=2000)]
EventName = Annotated[str, Field(min_length=1, max_length=64)]
EventNames = Annotated[list[EventName], Field(max_length=64)]
DAY_S = 86_400


class WebhookForm(StrEnum):
    """Format of deliveries: CloudEvents, a Slack message, or an alert for Prometheus Alertmanager."""

    CLOUDEVENTS = "cloudevents"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"


class WebhookFilter(StrEnum):
    """A filter of a webhook."""

    EVENTS = "events"
    LABELS = "labels"


class DeliveryState(StrEnum):
    """State of a delivery. `dead`: all attempts failed; the delivery can be replayed."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class Webhook(Resource):
    """A webhook. Its URL may contain a secret, so responses contain only the origin."""

    id: UUID
    name: str
    origin: str = Field(description="Scheme, host and port of the URL.")
    form: WebhookForm
    events: list[str] = Field(
        description="Events to send, such as `experiment.completed` or `trial.*`. Empty: all events."
    )
    labels: list[str] = Field(
        description="Send only events of experiments with at least one of these labels. Empty: no label filter."
    )
    workspace: str | None = Field(default=None, description="Null: events of the whole tenant.")
    project: str | None = None
    enabled: bool
    waiting: int = Field(description="Number of deliveries that are waiting for an attempt or a retry.")
    dead: int = Field(description="Number of deliveries whose attempts all failed.")
    previous_secret_until: datetime | None = Field(
        default=None, description="Until this time, deliveries are also signed with the previous secret."
    )
    created_at: datetime
    by: str = Field(description="Name of the user or token that created the webhook.")


class WebhookPage(Resource):
    """A page of webhooks, oldest first."""

    items: list[Webhook]
    next_cursor: str | None = None


class CreatedWebhook(Webhook):
    """A webhook with the secret that signs its deliveries. Only this response contains the secret."""

    secret: str


class CreateWebhookRequest(Request):
    """A webhook for events of the whole tenant, a workspace or a project."""

    name: Name
    url: Url
    form: WebhookForm = WebhookForm.CLOUDEVENTS
    events: EventNames = []
    labels: Labels = []
    workspace: PlaceName | None = None
    project: PlaceName | None = None


class ListWebhooksRequest(ListRequest):
    """The webhooks that the caller manages, in one workspace or in all."""

    listing = Listing.of(
        Webhook,
        *("name", "origin", "form", "events", "labels", "workspace", "project", "enabled"),
        *("waiting", "dead", "created_at", "by"),
        default_order="id",
    )

    workspace: PlaceName | None = None


class WebhookRequest(Request):
    """One webhook, by name or id."""

    webhook: Reference


class EditWebhookRequest(WebhookRequest):
    """Changes to a webhook. Omitted fields and empty lists keep their values."""

    name: Name | None = None
    url: Url | None = None
    form: WebhookForm | None = None
    events: EventNames = []
    labels: Labels = []
    lifted: Annotated[list[WebhookFilter], Field(max_length=4)] = Field(
        default=[], description="Filters to clear."
    )
    enabled: bool | None = Field(
        default=None,
        description="False: send nothing. Events that happen while the webhook is disabled are never sent.",
    )


class RotateWebhookSecretRequest(WebhookRequest):
    """A rotation of the secret. For `overlap_s` seconds, deliveries are signed with both secrets, so that the receiver can switch."""

    overlap_s: Annotated[int, Field(ge=0, le=7 * DAY_S)] = DAY_S


class WebhookDelivery(Resource):
    """The delivery of one event to one webhook."""

    id: UUID = Field(description="Value of the header `webhook-id`, the same for every attempt and replay.")
    type: str
    event: str = Field(description="Id of the event: its position in the feed.")
    state: DeliveryState
    attempts: int
    is_test: bool
    status: int | None = Field(default=None, description="HTTP status of the receiver's last answer.")
    error: str | None = Field(default=None, description="Why the last attempt failed.")
    created_at: datetime
    next_attempt_at: datetime | None = Field(default=None, description="Set while the delivery is `waiting`.")
    ended_at: datetime | None = Field(
        default=None, description="When the event was delivered or the last attempt failed."
    )


class WebhookDeliveryPage(Resource):
    """A page of deliveries, newest first."""

    items: list[WebhookDelivery]
    next_cursor: str | None = None


class ListWebhookDeliveriesRequest(ListRequest):
    """The deliveries of a webhook, in one state or in all."""

    listing = Listing.of(
        WebhookDelivery,
        *("type", "state", "attempts", "is_test", "status", "error", "created_at", "ended_at"),
        default_order="-created_at,-id",
    )

    webhook: Reference
    state: DeliveryState | None = None


class WebhookDeliveryRequest(WebhookRequest):
    """One delivery of a webhook, by its id."""

    delivery: Reference


class WebhookReplay(Resource):
    """Result of replaying deliveries."""

    deliveries: int = Field(description="Number of deliveries that are sent again.")
