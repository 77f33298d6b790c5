"""Finds, links or creates the account of a person from a provider's claims, as the site's sign-in file allows."""

from typing import Any

from services.gateway.platform.auth import first_account
from services.gateway.platform.auth.grants import TENANT_SCOPE
from services.gateway.platform.auth.sign_in.sign_in_file import ProviderSection
from services.gateway.platform.auth.store import accounts as people, roles, sessions as store
from services.gateway.platform.call_context import Call
from services.gateway.sessions.claims import display_name, groups_of, names_for, verified_email
from services.gateway.users.schema import UserKind
from shared.auth.jwts import Claims
from shared.bus import Unit
from shared.ids import derived_id, new_id


async def account_of(call: Call, unit: Unit, section: ProviderSection, claims: Claims) -> Any | None:
    """Return the subject's account, with its groups updated. None if no account is linked and none may be created."""
    known = await store.find_account_of(unit.connection, section.issuer, claims["sub"])
    account = known or await _by_email(call, unit, section, claims) or await _new(call, unit, section, claims)
    if account is not None:
        await _join_groups(call, unit, section, claims, account)
    return account


async def _by_email(call: Call, unit: Unit, section: ProviderSection, claims: Claims) -> Any | None:
    address = verified_email(claims) if section.link_by_email else None
    if address is None:
        return None
    account = await people.load_account(unit.connection, address)
    if account is None or account.kind != UserKind.PERSON:
        return None
    others = await store.load_identities(unit.connection, account.id)
    if any(one.issuer == section.issuer for one in others):
        return None
    await _link(call, unit, section, claims, account)
    return account


async def _new(call: Call, unit: Unit, section: ProviderSection, claims: Claims) -> Any | None:
    """Create an account under the first free name. An existing account of that name belongs to another person."""
    if not section.new_people:
        return None
    for name in names_for(claims):
        values = {
            "tenant": call.tenant,
            "id": new_id(call.dependencies.clock),
            "name": name,
            "kind": str(UserKind.PERSON),
            "display_name": display_name(claims),
            "created_at": unit.now,
        }
        if await people.insert_account(unit.connection, values):
            break
    else:
        return None
    account = await people.load_account(unit.connection, name)
    await _link(call, unit, section, claims, account)
    if section.default_role is not None and account is not None:
        given = first_account.binding_values(
            call.tenant, section.default_role, account.id, None, TENANT_SCOPE
        )
        await roles.insert_binding(unit.connection, given | {"created_at": unit.now, "by": section.issuer})
    return account


async def _link(call: Call, unit: Unit, section: ProviderSection, claims: Claims, account: Any) -> None:
    values = {
        "tenant": call.tenant,
        "id": derived_id(call.tenant, "identity", section.issuer, claims["sub"]),
        "account": account.id,
        "issuer": section.issuer,
        "subject": claims["sub"],
        "created_at": unit.now,
    }
    await store.insert_identity(unit.connection, values)


async def _join_groups(
    call: Call, unit: Unit, section: ProviderSection, claims: Claims, account: Any
) -> None:
    """Update the account's membership in every group that the sign-in file maps. Groups that do not exist are skipped."""
    theirs = groups_of(claims, section.groups_claim, section.groups)
    for name in sorted(set(section.groups.values())):
        group = await people.load_group(unit.connection, name)
        if group is None:
            continue
        if name in theirs:
            await people.add_member(unit.connection, call.tenant, group.id, account.id)
        else:
            await people.remove_member(unit.connection, group.id, account.id)
