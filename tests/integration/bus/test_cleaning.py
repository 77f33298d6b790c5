"""Old rows go in batches; what was never published, and what is young, stays."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from shared.bus.outbox import Outbox
from shared.database.engine import Database
from shared.ids import DEFAULT_TENANT
from shared.settings import PostgresSettings
from tests.integration.servers import TestDatabase

OLD = 4500
"""More than two batches."""


async def test_only_what_is_old_and_published_goes(tables: TestDatabase) -> None:
    urls = tables.urls["searcher"]
    settings = PostgresSettings.model_validate(
        {f"{role}_url": getattr(urls, role) for role in ("owner", "tenant", "system")}
    )
    engine = create_async_engine(
        urls.system.replace("postgresql://", "postgresql+asyncpg://", 1), poolclass=NullPool
    )
    outbox = (
        "INSERT INTO searcher.outbox (id, tenant, subject, headers, payload, created_at, published_at)"
        " SELECT gen_random_uuid(), :tenant, :kind, '{}', '', now() - make_interval(days => :days),"
        " CASE WHEN :published THEN now() END FROM generate_series(1, :number)"
    )
    inbox = (
        "INSERT INTO searcher.inbox SELECT :tenant, :kind, gen_random_uuid(), now() - make_interval(days => :days)"
        " FROM generate_series(1, :number)"
    )
    async with engine.begin() as connection:
        for kind, days, published, number in (
            ("old", 8, True, OLD),
            ("young", 6, True, 10),
            ("waiting", 8, False, 10),
        ):
            parameters = {
                "tenant": DEFAULT_TENANT,
                "kind": kind,
                "days": days,
                "published": published,
                "number": number,
            }
            await connection.execute(text(outbox), parameters)
        for kind, days, number in (("old", 15, OLD), ("young", 13, 10)):
            parameters = {"tenant": DEFAULT_TENANT, "kind": kind, "days": days, "number": number}
            await connection.execute(text(inbox), parameters)
    async with Database(settings, "searcher") as database:
        await Outbox(database, "searcher").drop_old()
    async with engine.connect() as connection:
        left_out = await connection.execute(
            text("SELECT subject, count(*) FROM searcher.outbox GROUP BY 1 ORDER BY 1")
        )
        left_in = await connection.execute(
            text("SELECT consumer, count(*) FROM searcher.inbox GROUP BY 1 ORDER BY 1")
        )
        assert [tuple(row) for row in left_out] == [("waiting", 10), ("young", 10)]
        assert [tuple(row) for row in left_in] == [("young", 10)]
    await engine.dispose()
