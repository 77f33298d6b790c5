"""The tables of the two small services, in a database without the others'."""

from collections.abc import Iterator

import pytest

from tests.integration.bus.relaying import make_tables
from tests.integration.servers import Servers, TestDatabase


@pytest.fixture(scope="module")
def postgres(servers: Servers) -> Iterator[TestDatabase]:
    database = servers.new_database()
    yield database
    servers.drop(database)


@pytest.fixture(scope="module")
async def tables(postgres: TestDatabase) -> TestDatabase:
    for schema in ("gateway", "searcher"):
        await make_tables(postgres.urls[schema].owner, schema)
    return postgres
