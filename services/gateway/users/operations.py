"""Operations on users, groups and the tokens of users. Roles are granted in `roles`."""

import secrets
from datetime import timedelta
from typing import Any

from muster.errors import Conflict
from services.gateway.platform.auth.delegation_checks import (
    check_caller_holds,
    check_no_self_lockout,
    read_permissions,
)
from services.gateway.platform.auth.grants import combine_bindings
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.auth.store import (
    accounts as store,
    roles,
    sessions as sign_in,
    tokens as access,
)
from services.gateway.platform.auth.tokens import RANDOM_BYTES, hash_token, render_token
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import KEY, MANAGE_ACCESS, NATURAL, SAFE, SEE_ACCESS
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.platform.schema import Done
from services.gateway.tokens.schema import OF_A_USER, CreatedToken
from services.gateway.users.find import group_in, user_in
from services.gateway.users.schema import (
    CreateGroupRequest,
    CreateUserRequest,
    CreateUserTokenRequest,
    EditUserRequest,
    Group,
    GroupMemberRequest,
    GroupPage,
    GroupRequest,
    ListGroupsRequest,
    ListUsersRequest,
    User,
    UserPage,
    UserRequest,
)
from shared.ids import new_id


async def create_user(call: Call, request: CreateUserRequest) -> User:
    """Create a user: a person or a service account. It has no permissions until a role is granted to it."""
    user_id = new_id(call.dependencies.clock)
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, user_id)
        if earlier is not None:
            return User.model_validate(earlier.response)
        values = {"tenant": call.tenant, "id": user_id, "created_at": unit.now, **request.model_dump()}
        if not await store.insert_account(unit.connection, values | {"kind": str(request.kind)}):
            raise Conflict(
                "user_exists",
                f"a user named {request.name} already exists (upper and lower case count as equal)",
                "name",
                "choose another name",
            )
        user = User.model_validate(values | {"groups": []})
        call.set_audit_fields(after=user)
        await remember(call, unit.connection, user)
    return user


async def list_users(call: Call, request: ListUsersRequest) -> UserPage:
    """List the tenant's users, by name unless `sort` is set."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        group = (await group_in(connection, request.group)).id if request.group else None
        found = await store.load_accounts(connection, group, wanted)
    return UserPage(
        items=[render_user(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def get_user(call: Call, request: UserRequest) -> User:
    """Get one user."""
    async with call.read() as connection:
        return render_user(await user_in(connection, request.user))


async def edit_user(call: Call, request: EditUserRequest) -> User:
    """Change a user's display name, or disable or enable the user."""
    async with call.transaction() as unit:
        await roles.lock_access(unit.connection, call.tenant)
        user = await user_in(unit.connection, request.user)
        check_unchanged(call, render_user(user))
        call.set_audit_fields(before=render_user(user), entity=f"user/{user.name}")
        if request.display_name is not None:
            await store.save_account(unit.connection, user.id, {"display_name": request.display_name})
        if request.disabled is not None:
            given = await roles.load_account_bindings(unit.connection, call.tenant, user.id)
            check_caller_holds(call, combine_bindings(given), f"user {user.name}", "user")
            since = (user.disabled_at or unit.now) if request.disabled else None
            await store.save_account(unit.connection, user.id, {"disabled_at": since})
            if request.disabled:
                await sign_in.end_sessions(unit.connection, user.id, unit.now)
            await check_no_self_lockout(call, unit.connection)
        edited = render_user(await user_in(unit.connection, str(user.id)))
        call.set_audit_fields(after=edited)
        return edited


async def create_user_token(call: Call, request: CreateUserTokenRequest) -> CreatedToken:
    """Create a token for a user. Only this response contains the secret. The token has the permissions of the user's roles, limited to its scope."""
    scope = read_permissions(request.scope, "scope") if request.scope else None
    secret, token_id = render_token(secrets.token_bytes(RANDOM_BYTES)), new_id(call.dependencies.clock)
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, token_id)
        if earlier is not None:
            return CreatedToken.model_validate(earlier.response)
        user = await user_in(unit.connection, request.user)
        given = await roles.load_account_bindings(unit.connection, call.tenant, user.id)
        check_caller_holds(call, combine_bindings(given, scope), f"user {user.name}", "user")
        values = {
            "tenant": call.tenant,
            "id": token_id,
            "name": request.name,
            # Not a role: a replica of the previous version rejects the token instead of ignoring its scope.
            "role": "user",
            "hash": hash_token(call.dependencies.keys.token, secret),
            "created_at": unit.now,
            "expires_at": unit.now + timedelta(seconds=request.ttl_s),
            "account": user.id,
            "scope": sorted(scope) if scope is not None else None,
        }
        await access.insert_token(unit.connection, values)
        visible = {"role": OF_A_USER, "user": user.name, "scope": request.scope, "secret": secret}
        created = CreatedToken.model_validate(values | visible)
        call.set_audit_fields(after=created, entity=f"user/{user.name}/token/{created.id}")
        return await remember(call, unit.connection, created)


async def create_group(call: Call, request: CreateGroupRequest) -> Group:
    """Create a group without members."""
    group_id = new_id(call.dependencies.clock)
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, group_id)
        if earlier is not None:
            return Group.model_validate(earlier.response)
        values = {"tenant": call.tenant, "id": group_id, "created_at": unit.now, **request.model_dump()}
        if not await store.insert_group(unit.connection, values):
            raise Conflict(
                "group_exists",
                f"a group named {request.name} already exists (upper and lower case count as equal)",
                "name",
                "choose another name",
            )
        group = Group.model_validate(values | {"members": 0})
        call.set_audit_fields(after=group)
        await remember(call, unit.connection, group)
    return group


async def list_groups(call: Call, request: ListGroupsRequest) -> GroupPage:
    """List the tenant's groups, by name unless `sort` is set."""
    wanted = read_wanted(call, request)
    async with call.read() as connection:
        found = await store.load_groups(connection, wanted)
    return GroupPage(
        items=[_render_group(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def get_group(call: Call, request: GroupRequest) -> Group:
    """Get one group. `ListUsers` lists its members."""
    async with call.read() as connection:
        return _render_group(await group_in(connection, request.group))


async def delete_group(call: Call, request: GroupRequest) -> Done:
    """Delete a group and its role bindings. Its members keep their accounts."""
    async with call.transaction() as unit:
        await roles.lock_access(unit.connection, call.tenant)
        group = await group_in(unit.connection, request.group)
        check_unchanged(call, _render_group(group))
        call.set_audit_fields(before=_render_group(group), entity=f"group/{group.name}")
        await roles.delete_bindings_of_group(unit.connection, group.id)
        await store.delete_group(unit.connection, group.id)
        await check_no_self_lockout(call, unit.connection)
    return Done()


async def add_group_member(call: Call, request: GroupMemberRequest) -> User:
    """Add a user to a group. The user gets the group's roles."""
    async with call.transaction() as unit:
        group = await group_in(unit.connection, request.group)
        user = await user_in(unit.connection, request.user)
        given = await roles.load_group_bindings(unit.connection, call.tenant, group.id)
        check_caller_holds(call, combine_bindings(given), f"group {group.name}", "group")
        await store.add_member(unit.connection, call.tenant, group.id, user.id)
        added = render_user(await user_in(unit.connection, str(user.id)))
        call.set_audit_fields(render_user(user), added, f"group/{group.name}/user/{user.name}")
        return added


async def remove_group_member(call: Call, request: GroupMemberRequest) -> User:
    """Remove a user from a group."""
    async with call.transaction() as unit:
        group = await group_in(unit.connection, request.group)
        user = await user_in(unit.connection, request.user)
        await store.remove_member(unit.connection, group.id, user.id)
        await check_no_self_lockout(call, unit.connection)
        removed = render_user(await user_in(unit.connection, str(user.id)))
        call.set_audit_fields(render_user(user), removed, f"group/{group.name}/user/{user.name}")
        return removed


def render_user(row: Any) -> User:
    return User.model_validate({**row._mapping, "groups": row.groups or []})


def _render_group(row: Any) -> Group:
    return Group.model_validate(row._mapping)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateUser", "POST", "/v1/users", CreateUserRequest, User, MANAGE_ACCESS, KEY, create_user, status=201),
    Operation("ListUsers", "GET", "/v1/users", ListUsersRequest, UserPage, SEE_ACCESS, SAFE, list_users),
    Operation("GetUser", "GET", "/v1/users/{user}", UserRequest, User, SEE_ACCESS, SAFE, get_user),
    Operation("EditUser", "PATCH", "/v1/users/{user}", EditUserRequest, User, MANAGE_ACCESS, NATURAL, edit_user, conditional=True),
    Operation("CreateUserToken", "POST", "/v1/users/{user}/tokens", CreateUserTokenRequest, CreatedToken, Permission.TOKEN_MANAGE, KEY, create_user_token, status=201, secret=True),
    Operation("CreateGroup", "POST", "/v1/groups", CreateGroupRequest, Group, MANAGE_ACCESS, KEY, create_group, status=201),
    Operation("ListGroups", "GET", "/v1/groups", ListGroupsRequest, GroupPage, SEE_ACCESS, SAFE, list_groups),
    Operation("GetGroup", "GET", "/v1/groups/{group}", GroupRequest, Group, SEE_ACCESS, SAFE, get_group),
    Operation("DeleteGroup", "DELETE", "/v1/groups/{group}", GroupRequest, Done, MANAGE_ACCESS, NATURAL, delete_group, conditional=True),
    Operation("AddGroupMember", "PUT", "/v1/groups/{group}/members/{user}", GroupMemberRequest, User, MANAGE_ACCESS, NATURAL, add_group_member),
    Operation("RemoveGroupMember", "DELETE", "/v1/groups/{group}/members/{user}", GroupMemberRequest, User, MANAGE_ACCESS, NATURAL, remove_group_member),
)
# fmt: on
