"""In which order what has arrived together is worked on."""

from typing import cast

from nats.aio.msg import Msg

from shared.bus import Delivery, Envelope
from shared.bus.delivery_batches import ReceivedMessage, by_tenant
from shared.ids import DEFAULT_TENANT, TenantId, derived_id

HOT, CALM = DEFAULT_TENANT, TenantId(derived_id(DEFAULT_TENANT, "calm"))


def arrived(tenant: TenantId, number: int) -> ReceivedMessage:
    envelope = Envelope(derived_id(tenant, number), "experiment.changed", 1, tenant)
    return ReceivedMessage(cast(Msg, None), Delivery(None, envelope), 1)


def test_who_has_little_to_do_does_not_wait_for_who_has_much() -> None:
    first, second, third, of_calm = arrived(HOT, 1), arrived(HOT, 2), arrived(HOT, 3), arrived(CALM, 1)
    assert by_tenant([first, second, of_calm, third]) == [(CALM, [of_calm]), (HOT, [first, second, third])]
