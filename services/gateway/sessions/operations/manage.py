"""Operations that list and end sessions, set passwords and link identities. `signing_in` creates sessions."""

from typing import Any
from uuid import UUID

from muster.errors import Conflict, NotFound, Rejected
from services.gateway.platform.auth.delegation_checks import check_caller_holds
from services.gateway.platform.auth.grants import combine_bindings
from services.gateway.platform.auth.sign_in.passwords import Passwords, check_password
from services.gateway.platform.auth.store import roles, sessions as store
from services.gateway.platform.call_context import Call
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Done, ListRequest
from services.gateway.sessions.operations.signing_in import check_account_attempts
from services.gateway.sessions.schema import (
    ChangePasswordRequest,
    Identity,
    IdentityList,
    IdentityRequest,
    LinkIdentityRequest,
    ListSessionsRequest,
    ListUserSessionsRequest,
    Session,
    SessionPage,
    SessionRequest,
    SessionsEnded,
    SetPasswordRequest,
)
from services.gateway.users.find import user_in
from services.gateway.users.schema import UserKind, UserRequest
from shared.bus import Unit
from shared.ids import derived_id

CURRENT = "current"


async def list_sessions(call: Call, request: ListSessionsRequest) -> SessionPage:
    """List the caller's active sessions, newest first unless `sort` is set. The list is empty for requests with an access token."""
    if call.caller.session is None or call.caller.user is None:
        return SessionPage(items=[])
    return await _page(call, request, call.caller.user)


async def revoke_session(call: Call, request: SessionRequest) -> Session:
    """End one of the caller's sessions. Every replica rejects it within seconds."""
    asked = call.caller.session if request.session == CURRENT else parse_uuid(request.session)
    is_own = call.caller.user is not None or asked == call.caller.session
    if call.caller.session is not None and asked is not None and is_own:
        async with call.transaction() as unit:
            row = await store.end_session(unit.connection, call.caller.user, asked, unit.now)
            if row is not None:
                call.set_audit_fields(before=_render(call, row))
                return _render(call, row)
    raise NotFound("the session")


async def list_user_sessions(call: Call, request: ListUserSessionsRequest) -> SessionPage:
    """List a user's active sessions, newest first unless `sort` is set."""
    async with call.read() as connection:
        user = await user_in(connection, request.user)
    return await _page(call, request, user.id)


async def revoke_user_sessions(call: Call, request: UserRequest) -> SessionsEnded:
    """End all sessions of a user. The user's tokens remain valid."""
    async with call.transaction() as unit:
        user = await user_in(unit.connection, request.user)
        await _check_covered(call, unit, user)
        return SessionsEnded(ended=await store.end_sessions(unit.connection, user.id, unit.now))


async def change_password(call: Call, request: ChangePasswordRequest) -> Done:
    """Change the caller's password and end the caller's other sessions."""
    passwords, caller = _passwords(call), call.caller
    if caller.user is None:
        raise Rejected("forbidden", "this token belongs to no user, so there is no password to change")
    check_password(request.new_password, caller.name, "new_password")
    await check_account_attempts(call, str(caller.user))
    async with call.read() as connection:
        before = await store.load_password(connection, caller.user)
    if not await passwords.matches(before, request.old_password):
        raise Rejected(
            "wrong_password",
            "the current password is wrong",
            "old_password",
            "an administrator can set a new one: `muster user password NAME`",
        )
    hashed = await passwords.hash(request.new_password)
    async with call.transaction() as unit:
        await _save_password(call, unit, caller.user, hashed)
        await store.end_sessions(unit.connection, caller.user, unit.now, caller.session)
    return Done()


async def set_password(call: Call, request: SetPasswordRequest) -> Done:
    """Set a person's password and end that person's sessions."""
    passwords = _passwords(call)
    async with call.read() as connection:
        user = await user_in(connection, request.user)
    if user.kind != UserKind.PERSON:
        raise Rejected(
            "not_a_person",
            f"{user.name} is a service account, which cannot have a password",
            "user",
            "create a token for it with `muster user token`",
        )
    check_password(request.password, user.name, "password")
    hashed = await passwords.hash(request.password)
    async with call.transaction() as unit:
        await _check_covered(call, unit, user)
        await _save_password(call, unit, user.id, hashed)
        await store.end_sessions(unit.connection, user.id, unit.now, call.caller.session)
    return Done()


async def link_identity(call: Call, request: LinkIdentityRequest) -> Identity:
    """Link a subject of one of the tenant's providers to a user. The subject can then sign in or call the API as that user."""
    section = call.dependencies.sign_in.providers.of_tenant(request.provider, call.caller.tenant_name)
    async with call.transaction() as unit:
        user = await user_in(unit.connection, request.user)
        await _check_covered(call, unit, user)
        if section is None:
            raise NotFound(
                f"provider {request.provider}", "the site's sign-in file lists your tenant's providers"
            )
        values = {
            "tenant": call.tenant,
            "id": derived_id(call.tenant, "identity", section.issuer, request.subject),
            "account": user.id,
            "issuer": section.issuer,
            "subject": request.subject,
            "created_at": unit.now,
        }
        if not await store.insert_identity(unit.connection, values):
            known = await store.load_identities(unit.connection, user.id)
            mine = next((one for one in known if one.id == values["id"]), None)
            if mine is None:
                raise Conflict("identity_taken", "this subject is linked to another user", "subject")
            return Identity.model_validate(mine._mapping)
        call.set_audit_fields(
            after=Identity.model_validate(values), entity=f"user/{user.name}/identity/{values['id']}"
        )
        return Identity.model_validate(values)


async def list_identities(call: Call, request: UserRequest) -> IdentityList:
    """List the identities that are linked to a user."""
    async with call.read() as connection:
        user = await user_in(connection, request.user)
        rows = await store.load_identities(connection, user.id)
    return IdentityList(items=[Identity.model_validate(row._mapping) for row in rows])


async def unlink_identity(call: Call, request: IdentityRequest) -> Identity:
    """Unlink an identity from a user and end the user's sessions."""
    identity_id = parse_uuid(request.identity)
    async with call.transaction() as unit:
        user = await user_in(unit.connection, request.user)
        await _check_covered(call, unit, user)
        if identity_id is not None:
            row = await store.delete_identity(unit.connection, user.id, identity_id)
            if row is not None:
                await store.end_sessions(unit.connection, user.id, unit.now, call.caller.session)
                call.set_audit_fields(before=Identity.model_validate(row._mapping))
                return Identity.model_validate(row._mapping)
    raise NotFound(f"identity {request.identity}")


async def _page(call: Call, request: ListRequest, whose: UUID) -> SessionPage:
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        now, asking = call.dependencies.clock.now(), call.caller.session
        found = await store.load_sessions(connection, whose, asking, now, wanted)
    return SessionPage(
        items=[_render(call, row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


def _passwords(call: Call) -> Passwords:
    if call.dependencies.sign_in.passwords is None:
        raise Rejected("no_passwords", "this site does not accept passwords")
    return call.dependencies.sign_in.passwords


async def _check_covered(call: Call, unit: Unit, user: Any) -> None:
    """Raise Rejected unless the caller holds all of the user's permissions: the caller could sign in as that user."""
    given = await roles.load_account_bindings(unit.connection, call.tenant, user.id)
    check_caller_holds(call, combine_bindings(given), f"user {user.name}", "user")


async def _save_password(call: Call, unit: Unit, whose: UUID, hashed: str) -> None:
    values = {"tenant": call.tenant, "account": whose, "hash": hashed, "changed_at": unit.now}
    await store.save_password(unit.connection, values)


def _render(call: Call, row: Any) -> Session:
    return Session.model_validate({**row._mapping, "current": row.id == call.caller.session})
