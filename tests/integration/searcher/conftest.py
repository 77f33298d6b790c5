"""A searcher's neighbours, played by the test; and one searcher for the tests that leave it alive."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from deploy.embedded.servers import NatsServer
from tests.integration.searcher.neighbours import Neighbours, searcher
from tests.integration.servers import TestDatabase


@pytest.fixture(scope="module")
async def neighbours(
    nats_server: NatsServer, postgres: TestDatabase, nats_credentials: Callable[[str], Path]
) -> AsyncIterator[Neighbours]:
    async with Neighbours.joined(nats_server.url, nats_credentials("admin")) as joined:
        yield joined


@pytest.fixture(scope="module")
async def service(settings: Callable[[str], dict[str, str]], neighbours: Neighbours) -> AsyncIterator[object]:
    async with searcher(settings("searcher")) as process:
        yield process
