"""Implements `muster republish`: sends one command to each service, which executes it once, now or after its next start."""

import json

from nats.errors import Error as NatsError
from nats.js import JetStreamContext

from deploy.embedded.operator_bus import with_jetstream
from muster.errors import Rejected, Transient
from shared.bus.envelope import Envelope
from shared.clock import SystemClock
from shared.ids import SITE, new_id
from shared.messages.republish import BY_OWNER


def request_all(service: str | None, *, as_json: bool) -> None:
    """Send the request to one service or to all, and print each."""
    if service is not None and service not in BY_OWNER:
        raise Rejected(
            "service_unknown", f"unknown service {service!r}", hint=f"choose one of: {', '.join(BY_OWNER)}"
        )

    async def work(stream: JetStreamContext) -> None:
        for owner in [service] if service else BY_OWNER:
            await send_request(stream, owner)
            message = f"{owner} will publish all its entities again, now or after its next start"
            print(json.dumps({"service": owner, "asked": True}) if as_json else message, flush=True)

    with_jetstream(work)


async def send_request(stream: JetStreamContext, service: str) -> None:
    """Publish the command to its stream. Raises Transient if JetStream does not answer; nothing was requested then."""
    id_ = new_id(SystemClock())
    command = BY_OWNER[service](operation_id=id_)
    envelope = Envelope(id_, command.TYPE, command.VERSION, SITE)
    try:
        await stream.publish(command.subject(), command.to_bytes(), headers=envelope.to_headers())
    except (NatsError, TimeoutError) as error:
        raise Transient(f"JetStream did not answer for {service}: {error!r}", retry_after_s=1.0) from error
