"""Table of the operations on webhooks and deliveries."""

from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, NATURAL, SAFE, WEBHOOKS
from services.gateway.platform.schema import Done
from services.gateway.webhooks.operations.deliveries import (
    list_deliveries,
    replay_dead,
    replay_delivery,
    test_webhook,
)
from services.gateway.webhooks.operations.manage import (
    create_webhook,
    delete_webhook,
    edit_webhook,
    get_webhook,
    list_webhooks,
    rotate_secret,
)
from services.gateway.webhooks.schema import (
    CreatedWebhook,
    CreateWebhookRequest,
    EditWebhookRequest,
    ListWebhookDeliveriesRequest,
    ListWebhooksRequest,
    RotateWebhookSecretRequest,
    Webhook,
    WebhookDelivery,
    WebhookDeliveryPage,
    WebhookDeliveryRequest,
    WebhookPage,
    WebhookReplay,
    WebhookRequest,
)

# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateWebhook", "POST", "/v1/webhooks", CreateWebhookRequest, CreatedWebhook, WEBHOOKS, KEY, create_webhook, status=201, secret=True),
    Operation("ListWebhooks", "GET", "/v1/webhooks", ListWebhooksRequest, WebhookPage, WEBHOOKS, SAFE, list_webhooks),
    Operation("GetWebhook", "GET", "/v1/webhooks/{webhook}", WebhookRequest, Webhook, WEBHOOKS, SAFE, get_webhook),
    Operation("EditWebhook", "PATCH", "/v1/webhooks/{webhook}", EditWebhookRequest, Webhook, WEBHOOKS, NATURAL, edit_webhook, conditional=True),
    Operation("DeleteWebhook", "DELETE", "/v1/webhooks/{webhook}", WebhookRequest, Done, WEBHOOKS, NATURAL, delete_webhook),
    Operation("RotateWebhookSecret", "POST", "/v1/webhooks/{webhook}/secret/rotate", RotateWebhookSecretRequest, CreatedWebhook, WEBHOOKS, NATURAL, rotate_secret, secret=True),
    Operation("TestWebhook", "POST", "/v1/webhooks/{webhook}/test", WebhookRequest, WebhookDelivery, WEBHOOKS, NATURAL, test_webhook, waits=True),
    Operation("ListWebhookDeliveries", "GET", "/v1/webhooks/{webhook}/deliveries", ListWebhookDeliveriesRequest, WebhookDeliveryPage, WEBHOOKS, SAFE, list_deliveries),
    Operation("ReplayWebhookDelivery", "POST", "/v1/webhooks/{webhook}/deliveries/{delivery}/replay", WebhookDeliveryRequest, WebhookDelivery, WEBHOOKS, NATURAL, replay_delivery),
    Operation("ReplayWebhookDeliveries", "POST", "/v1/webhooks/{webhook}/deliveries/replay", WebhookRequest, WebhookReplay, WEBHOOKS, NATURAL, replay_dead),
)
# fmt: on
