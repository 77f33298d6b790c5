"""Operations on roles and role bindings. Changes take effect on every replica within two seconds."""

from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.errors import Conflict, NotFound, Rejected
from services.gateway.platform.auth.delegation_checks import (
    check_caller_holds,
    check_no_self_lockout,
    read_permissions,
)
from services.gateway.platform.auth.first_account import binding_values
from services.gateway.platform.auth.grants import TENANT_SCOPE, Binding, Scope, combine_bindings
from services.gateway.platform.auth.permissions import ROLES, WIDE, Permission, Permissions, parse_permissions
from services.gateway.platform.auth.store import roles as store
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import claim, remember
from services.gateway.platform.lists.paging import next_cursor, read_wanted
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import GRANT, KEY, MANAGE_ACCESS, NATURAL, SAFE, SEE_ACCESS
from services.gateway.platform.preconditions import check_unchanged
from services.gateway.platform.references import parse_uuid
from services.gateway.platform.schema import Done, Empty
from services.gateway.roles.schema import (
    CreateRoleRequest,
    EditRoleRequest,
    GrantRoleRequest,
    ListRoleBindingsRequest,
    RoleBinding,
    RoleBindingPage,
    RoleBindingRequest,
    RoleDefinition,
    RolePage,
    RoleRequest,
)
from services.gateway.users.find import group_in, user_in
from shared.ids import derived_id

DESCRIPTIONS = {
    "admin": "Full access to the tenant, its users and their roles.",
    "workspace-admin": "Full access to a workspace, including its role bindings.",
    "editor": "Run experiments and register models.",
    "approver": "Everything a viewer can do, and approve model stages.",
    "viewer": "Read experiments and models, and download them.",
    "auditor": "Read users, roles, the audit log and usage, but no content.",
    "operator": "Manage the machines, pools, limits and tenants of the site, without access to tenants' content.",
}


async def list_roles(call: Call, request: Empty) -> RolePage:
    """List the roles that can be granted, built-in roles first."""
    async with call.read() as connection:
        made = await store.load_roles(connection)
    built_in = [_render_built_in(name) for name in ROLES]
    return RolePage(items=[*built_in, *map(_render, made)])


async def get_role(call: Call, request: RoleRequest) -> RoleDefinition:
    """Get one role with its permissions."""
    if request.role in ROLES:
        return _render_built_in(request.role)
    async with call.read() as connection:
        return _render(await _custom_role(connection, request.role))


async def create_role(call: Call, request: CreateRoleRequest) -> RoleDefinition:
    """Create a role from permissions. Callers can only use permissions that they hold themselves."""
    permissions = read_permissions(request.permissions, "permissions")
    check_caller_holds(
        call, combine_bindings([Binding(request.name, permissions)]), f"role {request.name}", "permissions"
    )
    if request.name in ROLES:
        raise _exists(request.name)
    async with call.transaction() as unit:
        earlier = await claim(call, unit, request, derived_id(call.tenant, "role", request.name))
        if earlier is not None:
            return RoleDefinition.model_validate(earlier.response)
        values = {
            "tenant": call.tenant,
            "name": request.name,
            "description": request.description,
            "permissions": sorted(permissions),
            "created_at": unit.now,
        }
        if not await store.insert_role(unit.connection, values):
            raise _exists(request.name)
        role = _render(await _custom_role(unit.connection, request.name))
        call.set_audit_fields(after=role)
        await remember(call, unit.connection, role)
    return role


async def edit_role(call: Call, request: EditRoleRequest) -> RoleDefinition:
    """Change a custom role. The change applies to every user who has it."""
    permissions = read_permissions(request.permissions, "permissions")
    check_caller_holds(
        call, combine_bindings([Binding(request.role, permissions)]), f"role {request.role}", "permissions"
    )
    async with call.transaction() as unit:
        await store.lock_access(unit.connection, call.tenant)
        role = await _custom_role(unit.connection, _changeable(request.role))
        check_unchanged(call, _render(role))
        call.set_audit_fields(before=_render(role))
        changed: dict[str, Any] = {}
        if request.description is not None:
            changed["description"] = request.description
        if permissions:
            changed["permissions"] = sorted(permissions)
        if changed:
            await store.save_role(unit.connection, role.name, changed)
            await check_no_self_lockout(call, unit.connection)
        edited = _render(await _custom_role(unit.connection, role.name))
        call.set_audit_fields(after=edited)
        return edited


async def delete_role(call: Call, request: RoleRequest) -> Done:
    """Delete a custom role that has no bindings."""
    async with call.transaction() as unit:
        await store.lock_access(unit.connection, call.tenant)
        role = await _custom_role(unit.connection, _changeable(request.role))
        check_unchanged(call, _render(role))
        call.set_audit_fields(before=_render(role))
        if given := await store.count_bindings(unit.connection, role.name):
            raise Conflict(
                "role_in_use",
                f"role {role.name} has {given} bindings",
                hint=f"revoke them first; `muster role bindings --role {role.name}` lists them",
            )
        await store.delete_role(unit.connection, role.name)
    return Done()


async def grant_role(call: Call, request: GrantRoleRequest) -> RoleBinding:
    """Grant a role to a user or a group on the tenant, a workspace or a project. Repeating the request has no effect."""
    place = _place(request)
    if (request.user is None) == (request.group is None):
        raise Rejected(
            "invalid_request",
            "a role binding needs either a user or a group",
            "user",
            "set exactly one of `user` and `group`",
        )
    call.check_scope(Permission.ACCESS_GRANT, place)
    async with call.transaction() as unit:
        permissions = await _permissions(unit.connection, request.role)
        if place != TENANT_SCOPE and permissions & WIDE:
            raise Rejected(
                "role_too_wide",
                f"role {request.role} has permissions that can only be granted on the whole tenant: {', '.join(sorted(permissions & WIDE))}",
                "role",
                "grant it on the tenant, or grant another role here, such as workspace-admin",
            )
        check_caller_holds(
            call,
            combine_bindings([Binding(request.role, permissions, place)]),
            f"role {request.role}",
            "role",
        )
        user = (await user_in(unit.connection, request.user)).id if request.user else None
        group = (await group_in(unit.connection, request.group)).id if request.group else None
        values = binding_values(call.tenant, request.role, user, group, place)
        earlier = await claim(call, unit, request, values["id"])
        if earlier is not None:
            return RoleBinding.model_validate(earlier.response)
        await store.insert_binding(unit.connection, values | {"created_at": unit.now, "by": call.caller.name})
        binding = _render_binding(await store.load_binding(unit.connection, values["id"]))
        call.set_audit_fields(after=binding, entity=f"role-binding/{binding.id}")
        return await remember(call, unit.connection, binding)


async def list_role_bindings(call: Call, request: ListRoleBindingsRequest) -> RoleBindingPage:
    """List role bindings, as far as the caller may read access settings."""
    wanted = read_wanted(call, request)
    named = request.model_dump(include={"role", "user", "group", "workspace"}, exclude_none=True)
    async with call.read() as connection:
        found = await store.load_bindings(connection, named, wanted)
    return RoleBindingPage(
        items=[_render_binding(row) for row in found.rows], next_cursor=next_cursor(call, request, found.next)
    )


async def revoke_role(call: Call, request: RoleBindingRequest) -> RoleBinding:
    """Revoke a role binding. Callers can only revoke roles whose permissions they hold themselves."""
    binding = parse_uuid(request.binding)
    async with call.transaction() as unit:
        row = await store.load_binding(unit.connection, binding) if binding else None
        if row is None:
            raise NotFound(
                f"binding {request.binding}", "`muster role bindings` lists the bindings with their ids"
            )
        given = await store.load_one_binding(unit.connection, call.tenant, row.id)
        check_caller_holds(call, combine_bindings(given), f"role {row.role}", "binding")
        await store.delete_binding(unit.connection, row.id)
        await check_no_self_lockout(call, unit.connection)
        call.set_audit_fields(before=_render_binding(row))
        return _render_binding(row)


def _place(request: GrantRoleRequest) -> Scope:
    if request.project is not None and request.workspace is None:
        raise Rejected("invalid_request", "a project needs its workspace", "workspace", "set `workspace`")
    return Scope(request.workspace, request.project)


async def _permissions(connection: AsyncConnection, name: str) -> Permissions:
    if name in ROLES:
        return ROLES[name]
    return parse_permissions((await _custom_role(connection, name)).permissions)


async def _custom_role(connection: AsyncConnection, name: str) -> Any:
    """Load a custom role. Raises NotFound."""
    row = await store.find_role(connection, name)
    if row is None:
        raise NotFound(f"role {name}", "`muster role list` lists the roles")
    return row


def _changeable(name: str) -> str:
    if name in ROLES:
        raise Conflict(
            "role_built_in",
            f"role {name} is built in and cannot be changed or deleted",
            hint="create a custom role with `muster role create`",
        )
    return name


def _exists(name: str) -> Conflict:
    return Conflict("role_exists", f"a role named {name} already exists", "name")


def _render_built_in(name: str) -> RoleDefinition:
    return _definition(name, DESCRIPTIONS[name], ROLES[name], built_in=True)


def _render(row: Any) -> RoleDefinition:
    return _definition(row.name, row.description, parse_permissions(row.permissions), built_in=False)


def _definition(name: str, description: str, permissions: Permissions, *, built_in: bool) -> RoleDefinition:
    return RoleDefinition(
        name=name,
        description=description,
        permissions=sorted(permissions),
        built_in=built_in,
        tenant_only=bool(permissions & WIDE),
    )


def _render_binding(row: Any) -> RoleBinding:
    return RoleBinding.model_validate(row._mapping)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("CreateRole", "POST", "/v1/roles", CreateRoleRequest, RoleDefinition, MANAGE_ACCESS, KEY, create_role, status=201),
    Operation("ListRoles", "GET", "/v1/roles", Empty, RolePage, SEE_ACCESS, SAFE, list_roles),
    Operation("GetRole", "GET", "/v1/roles/{role}", RoleRequest, RoleDefinition, SEE_ACCESS, SAFE, get_role),
    Operation("EditRole", "PATCH", "/v1/roles/{role}", EditRoleRequest, RoleDefinition, MANAGE_ACCESS, NATURAL, edit_role, conditional=True),
    Operation("DeleteRole", "DELETE", "/v1/roles/{role}", RoleRequest, Done, MANAGE_ACCESS, NATURAL, delete_role, conditional=True),
    Operation("GrantRole", "POST", "/v1/role-bindings", GrantRoleRequest, RoleBinding, GRANT, KEY, grant_role, status=201),
    Operation("ListRoleBindings", "GET", "/v1/role-bindings", ListRoleBindingsRequest, RoleBindingPage, SEE_ACCESS, SAFE, list_role_bindings),
    Operation("RevokeRole", "DELETE", "/v1/role-bindings/{binding}", RoleBindingRequest, RoleBinding, GRANT, NATURAL, revoke_role),
)
# fmt: on
