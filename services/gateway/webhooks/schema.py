"""Webhooks: where a tenant's events are sent, and what became of each."""

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
    """What is sent: a CloudEvent, a message for Slack, an alert for Prometheus' Alertmanager."""

    CLOUDEVENTS = "cloudevents"
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"


class WebhookFilter(StrEnum):
    """What narrows a webhook and can be lifted."""

    EVENTS = "events"
    LABELS = "labels"


class DeliveryState(StrEnum):
    """Where a delivery stands; a dead one was given up and can be replayed."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


class Webhook(Resource):
    """Where events are sent. Its address may hold a secret, so only its origin is shown."""

    id: UUID
    name: str
    origin: str = Field(description="Scheme, host and port of the address.")
    form: WebhookForm
    events: list[str] = Field(description="Such as `experiment.completed` or `trial.*`; none: all.")
    labels: list[str] = Field(description="Of experiments, of which one is enough; none: whatever they have.")
    workspace: str | None = Field(default=None, description="None: of the tenant as a whole.")
    project: str | None = None
    enabled: bool
    waiting: int = Field(description="Deliveries that are still tried.")
    dead: int = Field(description="Deliveries that were given up.")
    previous_secret_until: datetime | None = Field(
        default=None, description="Until then the secret before the last rotation signs too."
    )
    created_at: datetime
    by: str = Field(description="Who made it.")


class WebhookPage(Resource):
    """A page of webhooks, the oldest first."""

    items: list[Webhook]
    next_cursor: str | None = None


class CreatedWebhook(Webhook):
    """A webhook with the secret that signs what is sent; it is shown this one time."""

    secret: str


class CreateWebhookRequest(Request):
    """Sends events to an address, of the tenant as a whole, a workspace, or a project of one."""

    name: Name
    url: Url
    form: WebhookForm = WebhookForm.CLOUDEVENTS
    events: EventNames = []
    labels: Labels = []
    workspace: PlaceName | None = None
    project: PlaceName | None = None


class ListWebhooksRequest(ListRequest):
    """The webhooks that the caller manages, of a workspace or all."""

    listing = Listing.of(
        Webhook,
        *("name", "origin", "form", "events", "labels", "workspace", "project", "enabled"),
        *("waiting", "dead", "created_at", "by"),
        usual="id",
    )

    workspace: PlaceName | None = None


class WebhookRequest(Request):
    """One webhook, by name or id."""

    webhook: Reference


class EditWebhookRequest(WebhookRequest):
    """Changes a webhook; what is left out, or an empty list, stays as it is."""

    name: Name | None = None
    url: Url | None = None
    form: WebhookForm | None = None
    events: EventNames = []
    labels: Labels = []
    lifted: Annotated[list[WebhookFilter], Field(max_length=4)] = Field(
        default=[], description="These filters go: it hears all events, or of all labels."
    )
    enabled: bool | None = Field(
        default=None, description="False: nothing is sent, and what happens meanwhile never will be."
    )


class RotateWebhookSecretRequest(WebhookRequest):
    """A new secret; the one before it signs beside it for a while, so that the receiver can change over."""

    overlap_s: Annotated[int, Field(ge=0, le=7 * DAY_S)] = DAY_S


class WebhookDelivery(Resource):
    """One event for one webhook."""

    id: UUID = Field(description="As in the header `webhook-id`: the same at each attempt and replay.")
    type: str
    event: str = Field(description="The event's id: its position in the feed.")
    state: DeliveryState
    attempts: int
    is_test: bool
    status: int | None = Field(default=None, description="What the receiver answered at last.")
    error: str | None = Field(default=None, description="Why the last attempt failed.")
    created_at: datetime
    next_attempt_at: datetime | None = Field(default=None, description="While it waits.")
    ended_at: datetime | None = Field(default=None, description="When it was delivered or given up.")


class WebhookDeliveryPage(Resource):
    """A page of deliveries, the newest first."""

    items: list[WebhookDelivery]
    next_cursor: str | None = None


class ListWebhookDeliveriesRequest(ListRequest):
    """What was sent to a webhook, in one state or all."""

    listing = Listing.of(
        WebhookDelivery,
        *("type", "state", "attempts", "is_test", "status", "error", "created_at", "ended_at"),
        usual="-created_at,-id",
    )

    webhook: Reference
    state: DeliveryState | None = None


class WebhookDeliveryRequest(WebhookRequest):
    """One delivery of a webhook, by its id."""

    delivery: Reference


class WebhookReplay(Resource):
    """How many deliveries are sent again."""

    deliveries: int
