"""The size of code is looked up once, and each tenant's apart."""

from services.gateway.remembered.code_sizes import CodeSizes
from shared.ids import DEFAULT_TENANT, TenantId, derived_id

OTHER = TenantId(derived_id(DEFAULT_TENANT, "other"))


async def test_code_is_looked_up_until_it_is_there_and_never_for_another_tenant() -> None:
    sizes, stored = CodeSizes(), {DEFAULT_TENANT: 5}

    async def size_of(tenant: TenantId) -> int | None:
        async def load() -> int | None:
            return stored.pop(tenant, None)

        return await sizes.of(tenant, "hash", "entrypoint", load)

    assert await size_of(OTHER) is None
    assert await size_of(DEFAULT_TENANT) == 5
    assert await size_of(DEFAULT_TENANT) == 5, "it is remembered"
    assert await size_of(OTHER) is None, "what another has put is nothing to this one"
    stored[OTHER] = 7
    assert await size_of(OTHER) == 7, "what was missing is looked up again"
