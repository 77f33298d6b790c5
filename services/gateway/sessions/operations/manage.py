"""Sessions as they are seen and ended, passwords as they are set, and who of a provider a user is. How sessions begin: `signing_in`."""

from typing import Any
from uuid import UUID

from muster.errors import Conflict, NotFound, Rejected
from services.gateway.platform.auth.delegation_checks import check_caller_holds
from services.gateway.platform.auth.grants import combine_bindings
from services.gateway.platform.auth.sign_in.passwords import Passwords, check_password
from services.gateway.platform.auth.store import roles, sessions as store
from services.gateway.platform.call import Call
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Done, ListRequest
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
    """Lists the caller's sessions that count, newest first or as they are sorted; who calls with a token has none to see."""
    if call.caller.session is None or call.caller.user is None:
        return SessionPage(items=[])
    return await _page(call, request, call.caller.user)


async def revoke_session(call: Call, request: SessionRequest) -> Session:
    """Ends a session of the caller's; every replica refuses it within seconds."""
    asked = call.caller.session if request.session == CURRENT else parse_uuid(request.session)
    is_own = call.caller.user is not None or asked == call.caller.session
    if call.caller.session is not None and asked is not None and is_own:
        async with call.transaction() as unit:
            row = await store.end_session(unit.connection, call.caller.user, asked, unit.now)
            if row is not None:
                call.note(before=_render(call, row))
                return _render(call, row)
    raise NotFound("the session")


async def list_user_sessions(call: Call, request: ListUserSessionsRequest) -> SessionPage:
    """Lists the sessions of a user that count, newest first or as they are sorted."""
    async with call.read() as connection:
        user = await user_in(connection, request.user)
    return await _page(call, request, user.id)


async def revoke_user_sessions(call: Call, request: UserRequest) -> SessionsEnded:
    """Ends all sessions of a user; its tokens stay."""
    async with call.transaction() as unit:
        user = await user_in(unit.connection, request.user)
        await _check_covered(call, unit, user)
        return SessionsEnded(ended=await store.end_sessions(unit.connection, user.id, unit.now))


async def change_password(call: Call, request: ChangePasswordRequest) -> Done:
    """Sets the caller's password in place of the one before, and ends the caller's other sessions."""
    passwords, caller = _passwords(call), call.caller
    if caller.user is None:
        raise Rejected("forbidden", "this token is nobody's, and has no password")
    check_password(request.new_password, caller.name, "new_password")
    await call.doors.sign_in.attempts.attempt("account", str(caller.user))
    async with call.read() as connection:
        before = await store.load_password(connection, caller.user)
    if not await passwords.matches(before, request.old_password):
        raise Rejected("wrong_password", "this is not your password of before", "old_password")
    hashed = await passwords.hash(request.new_password)
    async with call.transaction() as unit:
        await _save_password(call, unit, caller.user, hashed)
        await store.end_sessions(unit.connection, caller.user, unit.now, caller.session)
    return Done()


async def set_password(call: Call, request: SetPasswordRequest) -> Done:
    """Gives a person a password, and ends that person's sessions."""
    passwords = _passwords(call)
    async with call.read() as connection:
        user = await user_in(connection, request.user)
    if user.kind != UserKind.PERSON:
        raise Rejected(
            "not_a_person", f"{user.name} is a program", "user", "`muster user token` gives it a token"
        )
    check_password(request.password, user.name, "password")
    hashed = await passwords.hash(request.password)
    async with call.transaction() as unit:
        await _check_covered(call, unit, user)
        await _save_password(call, unit, user.id, hashed)
        await store.end_sessions(unit.connection, user.id, unit.now, call.caller.session)
    return Done()


async def link_identity(call: Call, request: LinkIdentityRequest) -> Identity:
    """Lets a user sign in, or a program call, as this subject of a provider of the tenant."""
    section = call.doors.sign_in.providers.of_tenant(request.provider, call.caller.tenant_name)
    async with call.transaction() as unit:
        user = await user_in(unit.connection, request.user)
        await _check_covered(call, unit, user)
        if section is None:
            raise NotFound(f"provider {request.provider}", "the site's sign-in file names your tenant's")
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
                raise Conflict("identity_taken", "this subject is another user's", "subject")
            return Identity.model_validate(mine._mapping)
        call.note(after=Identity.model_validate(values), entity=f"user/{user.name}/identity/{values['id']}")
        return Identity.model_validate(values)


async def list_identities(call: Call, request: UserRequest) -> IdentityList:
    """Lists what a user is known by at providers."""
    async with call.read() as connection:
        user = await user_in(connection, request.user)
        rows = await store.load_identities(connection, user.id)
    return IdentityList(items=[Identity.model_validate(row._mapping) for row in rows])


async def unlink_identity(call: Call, request: IdentityRequest) -> Identity:
    """Takes from a user what it is known by at a provider, and ends its sessions."""
    identity_id = parse_uuid(request.identity)
    async with call.transaction() as unit:
        user = await user_in(unit.connection, request.user)
        await _check_covered(call, unit, user)
        if identity_id is not None:
            row = await store.delete_identity(unit.connection, user.id, identity_id)
            if row is not None:
                await store.end_sessions(unit.connection, user.id, unit.now, call.caller.session)
                call.note(before=Identity.model_validate(row._mapping))
                return Identity.model_validate(row._mapping)
    raise NotFound(f"identity {request.identity}")


async def _page(call: Call, request: ListRequest, whose: UUID) -> SessionPage:
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        now, asking = call.doors.clock.now(), call.caller.session
        found = await store.load_sessions(connection, whose, asking, now, wanted)
    return SessionPage(
        items=[_render(call, row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


def _passwords(call: Call) -> Passwords:
    if call.doors.sign_in.passwords is None:
        raise Rejected("no_passwords", "this site takes no passwords")
    return call.doors.sign_in.passwords


async def _check_covered(call: Call, unit: Unit, user: Any) -> None:
    """Who can sign in as somebody has what that one has."""
    given = await roles.load_account_bindings(unit.connection, call.tenant, user.id)
    check_caller_holds(call, combine_bindings(given), f"user {user.name}", "user")


async def _save_password(call: Call, unit: Unit, whose: UUID, hashed: str) -> None:
    values = {"tenant": call.tenant, "account": whose, "hash": hashed, "changed_at": unit.now}
    await store.save_password(unit.connection, values)


def _render(call: Call, row: Any) -> Session:
    return Session.model_validate({**row._mapping, "current": row.id == call.caller.session})
