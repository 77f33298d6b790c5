"""Creates missing streams and durable consumers. The bus keeper (`deploy/bus_keeper`) calls it; nobody else has the permission."""

from collections.abc import Iterator
from typing import Any

from nats.js import JetStreamContext, api
from nats.js.errors import BadRequestError, NotFoundError

from shared.bus.streams import ALL, StreamConfig, filters_of
from shared.messages.consumers import ConsumerConfig, all_consumers

_ACK_WAIT_S = 5.0
_MAX_ACK_PENDING = 2000


async def ensure_bus(jetstream: JetStreamContext, replicas: int = 1) -> list[str]:
    """Create what is missing, correct consumers that differ, and return the names of both. Never deletes or changes a stream.

    Consumers differ after an upgrade, or after a change by somebody with stolen credentials.
    """
    changed = []
    for stream in ALL:
        if await _ensure_stream(jetstream, stream, replicas):
            changed.append(stream.name)
        found = {info.name: _compared(info.config) for info in await jetstream.consumers_info(stream.name)}
        for consumer in _consumers_of(stream):
            wanted = _config(consumer)
            if found.get(consumer.service) != _compared(wanted):
                await jetstream.add_consumer(stream.name, wanted)
                changed.append(f"{stream.name}.{consumer.service}")
    return changed


def _consumers_of(stream: StreamConfig) -> Iterator[ConsumerConfig]:
    return (consumer for consumer in all_consumers() if consumer.stream == stream.name)


async def _ensure_stream(jetstream: JetStreamContext, stream: StreamConfig, replicas: int) -> bool:
    try:
        await jetstream.stream_info(stream.name)
        return False
    except NotFoundError:
        pass
    try:
        await jetstream.add_stream(
            api.StreamConfig(
                name=stream.name,
                subjects=list(stream.subjects),
                retention=stream.retention,
                storage=api.StorageType.FILE,
                discard=api.DiscardPolicy.NEW,
                max_bytes=stream.max_bytes,
                max_age=stream.max_age_s,
                duplicate_window=stream.duplicate_window_s,
                num_replicas=replicas,
                allow_atomic=stream.takes_batches,
                deny_delete=not stream.deletable,
                deny_purge=True,
            )
        )
    except BadRequestError:
        # A second bus keeper created it meanwhile.
        await jetstream.stream_info(stream.name)
    return True


def _config(consumer: ConsumerConfig) -> api.ConsumerConfig:
    return api.ConsumerConfig(
        name=consumer.service,  # makes nats-py use the subject that names the consumer
        durable_name=consumer.service,
        filter_subjects=list(consumer.filters),
        ack_policy=api.AckPolicy.EXPLICIT,
        ack_wait=_ACK_WAIT_S,
        max_deliver=-1,
        max_ack_pending=_MAX_ACK_PENDING,
        deliver_policy=api.DeliverPolicy.ALL,
    )


def _compared(config: api.ConsumerConfig) -> tuple[Any, ...]:
    """Return the parts of a consumer's configuration that the server lets a client change and that delivery depends on."""
    return (
        tuple(sorted(filters_of(config))),
        config.ack_wait,
        config.max_deliver,
        config.max_ack_pending,
        config.deliver_subject,
    )
