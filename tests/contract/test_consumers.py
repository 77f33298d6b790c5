"""The bus keeper's consumers receive what the services handle, and no more: what nobody handles becomes a dead letter."""

from typing import Any, cast
from unittest.mock import Mock

import pytest

from services.gateway.projections.handlers import handlers_of
from services.provisioner.handlers import SchedulerEventHandlers
from services.registry.handlers import COMMANDS, EVENTS as REGISTRY
from services.scheduler.handlers import Handlers
from services.searcher.handlers import command_handlers, event_handlers
from shared.bus.streams import ALL
from shared.messages.base import Message
from shared.messages.consumers import EVENTS, all_consumers, commands_of
from shared.messages.deletions import BY_OWNER as DELETE
from shared.messages.republish import BY_OWNER as REPUBLISH

NOTHING: Any = Mock()
EVENT_HANDLERS: dict[str, Any] = {
    "gateway": handlers_of(NOTHING, NOTHING),
    "searcher": event_handlers(NOTHING),
    "scheduler": Handlers(NOTHING).events(),
    "provisioner": SchedulerEventHandlers(NOTHING).events(),
    "registry": REGISTRY,
}
COMMAND_HANDLERS: dict[str, Any] = {
    "gateway": {},
    "searcher": command_handlers(NOTHING),
    "scheduler": Handlers(NOTHING).commands(),
    "provisioner": {},
    "registry": COMMANDS,
}


@pytest.mark.parametrize("service", EVENTS)
def test_a_consumer_receives_what_its_service_handles(service: str) -> None:
    assert set(EVENTS[service]) == set(EVENT_HANDLERS[service])
    shared = {known[service] for known in (DELETE, REPUBLISH) if service in known}
    handled = set(cast("dict[type[Message], Any]", COMMAND_HANDLERS[service])) | shared
    assert set(commands_of(service)) == handled


def test_every_service_has_a_consumer_of_each_stream_that_is_consumed() -> None:
    found = [(consumer.stream, consumer.service) for consumer in all_consumers()]
    assert len(set(found)) == len(found) == 2 * len(EVENTS)
    names = {stream.name: stream for stream in ALL}
    assert all(names[one.stream].keeps(subject) for one in all_consumers() for subject in one.filters)
