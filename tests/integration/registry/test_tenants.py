"""What keeps tenants apart in the registry's tables."""

import asyncpg
import pytest

from tests.integration.registry.platform import Platform

pytestmark = pytest.mark.usefixtures("registry")

TABLES = """
    SELECT format('registry.%I', c.relname) AS name, c.relispartition AS is_part,
        c.relrowsecurity AND c.relforcerowsecurity AS is_forced,
        EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant') AS has_tenant,
        EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*'
            AND p.polroles = ARRAY['registry_tenant'::regrole::oid]
            AND pg_get_expr(p.polqual, c.oid) LIKE '(tenant = %muster.tenant%'
            AND pg_get_expr(p.polwithcheck, c.oid) LIKE '(tenant = %muster.tenant%') AS has_policy,
        has_table_privilege('registry_tenant', c.oid, 'SELECT, UPDATE, DELETE') AS is_open
    FROM pg_class c WHERE c.relnamespace = 'registry'::regnamespace AND c.relkind IN ('r', 'p', 'm', 'v')
"""
OF_NO_TENANT = {
    "registry.alembic_version",
    "registry.tombstone",
    "registry.pending_prefix_cleanup",
    "registry.worker",
}
"""Besides the migrations' mark, ids of what was deleted and prefixes that are still to be emptied, which outlive their tenant; and the
site's workers that are away."""
READ_BY_ALL = {"registry.tombstone"}
"""Each message that comes is held against these ids, under its tenant; they say nothing else."""


async def test_every_table_is_under_row_level_security_or_closed_to_tenants(around: Platform) -> None:
    tables = await around.rows(TABLES)
    bare = {
        row["name"]
        for row in tables
        if not (row["has_tenant"] and row["is_forced"] and row["has_policy"]) and not row["is_part"]
    }
    assert bare == OF_NO_TENANT, "protect() each new table in its migration"
    closed = OF_NO_TENANT - READ_BY_ALL | {row["name"] for row in tables if row["is_part"]}
    assert {row["name"] for row in tables if row["is_open"]} & closed == set()
    assert len(tables) > 15


async def test_without_a_tenant_nothing_is_seen(around: Platform) -> None:
    tables = [row["name"] for row in await around.rows(TABLES) if row["is_open"]]
    await around.restore(around.scheduler.grant())
    connection = await asyncpg.connect(around.database.urls["registry"].tenant)
    try:
        for table in tables:
            assert await connection.fetchval(f"SELECT count(*) FROM {table}") == 0
    finally:
        await connection.close()
