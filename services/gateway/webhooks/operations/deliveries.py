"""Operations that list, test and replay deliveries. Only `webhooks.sender` sends them."""

from typing import Any

from muster.errors import NotFound
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.references import parse_uuid
from services.gateway.webhooks import delivery_store as store
from services.gateway.webhooks.core import PREFIX, TEST_EVENT, EventContext, FeedEvent, cloud_event
from services.gateway.webhooks.operations.manage import webhook_in
from services.gateway.webhooks.schema import (
    DeliveryState,
    ListWebhookDeliveriesRequest,
    WebhookDelivery,
    WebhookDeliveryPage,
    WebhookDeliveryRequest,
    WebhookReplay,
    WebhookRequest,
)
from shared.ids import new_id

_LOOK_S = 0.2
_MARGIN_S = 3.0


async def list_deliveries(call: Call, request: ListWebhookDeliveriesRequest) -> WebhookDeliveryPage:
    """List the deliveries of a webhook, newest first unless `sort` is set."""
    wanted = read_wanted(call, request)
    state = str(request.state) if request.state else None
    async with call.read() as connection:
        webhook = await webhook_in(connection, request.webhook)
        found = await store.load_deliveries(connection, webhook.id, state, wanted)
    return WebhookDeliveryPage(
        items=[_render(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def test_webhook(call: Call, request: WebhookRequest) -> WebhookDelivery:
    """Send one test event to a webhook, without retries, and return the result."""
    delivery_id = new_id(call.dependencies.clock)
    async with call.transaction() as unit:
        webhook = await webhook_in(unit.connection, request.webhook)
        context = EventContext(webhook.workspace, webhook.project) if webhook.workspace else None
        happening = FeedEvent(TEST_EVENT, 0, webhook.id, {"name": webhook.name}, context)
        event = cloud_event(call.tenant, unit.now, happening) | {"id": str(delivery_id)}
        values = {
            "tenant": call.tenant,
            "id": delivery_id,
            "webhook": webhook.id,
            "type": TEST_EVENT,
            "event": event,
            "position": 0,
            "is_test": True,
            "created_at": unit.now,
        }
        await store.insert_delivery(unit.connection, values)
    call.dependencies.publisher.subscribers.wake()
    until_s = call.dependencies.clock.monotonic() + call.dependencies.outbound.timeout_s + _MARGIN_S
    with call.dependencies.feed.waiting(call.tenant) as waiter:
        while True:
            async with call.read() as connection:
                row = await store.load_delivery(connection, webhook.id, delivery_id)
            if row is None:
                raise NotFound(f"webhook {request.webhook}")
            if row.state != DeliveryState.WAITING or call.dependencies.clock.monotonic() > until_s:
                return _render(row)
            await waiter.wait(_LOOK_S)


async def replay_delivery(call: Call, request: WebhookDeliveryRequest) -> WebhookDelivery:
    """Send a delivery again, with the same id."""
    delivery_id = parse_uuid(request.delivery)
    async with call.transaction() as unit:
        webhook = await webhook_in(unit.connection, request.webhook)
        if delivery_id is None or not await store.replay(unit.connection, webhook.id, delivery_id, unit.now):
            raise NotFound(
                f"delivery {request.delivery}", "`muster webhook deliveries WEBHOOK` lists the deliveries"
            )
        row = await store.load_delivery(unit.connection, webhook.id, delivery_id)
    call.dependencies.publisher.subscribers.wake()
    return _render(row)


async def replay_dead(call: Call, request: WebhookRequest) -> WebhookReplay:
    """Send all dead deliveries of a webhook again."""
    async with call.transaction() as unit:
        webhook = await webhook_in(unit.connection, request.webhook)
        found = await store.replay(unit.connection, webhook.id, None, unit.now)
    call.dependencies.publisher.subscribers.wake()
    return WebhookReplay(deliveries=found)


def _render(row: Any) -> WebhookDelivery:
    return WebhookDelivery(
        id=row.id,
        type=PREFIX + row.type,
        event=str(row.event["id"]),
        state=DeliveryState(row.state),
        attempts=row.attempts,
        is_test=row.is_test,
        status=row.status,
        error=row.error,
        created_at=row.created_at,
        next_attempt_at=row.due_at if row.state == DeliveryState.WAITING else None,
        ended_at=row.ended_at,
    )
