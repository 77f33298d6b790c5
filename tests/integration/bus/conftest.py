"""The tables of the two small services."""

import pytest

from tests.integration.bus.relaying import make_tables
from tests.integration.servers import TestDatabase


@pytest.fixture(scope="module")
async def tables(postgres: TestDatabase) -> TestDatabase:
    for schema in ("gateway", "searcher"):
        await make_tables(postgres.urls[schema].owner, schema)
    return postgres
