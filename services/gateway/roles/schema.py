"""Requests and responses for roles, role bindings and tenants."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from services.gateway.platform.schema import ListRequest, Reference, Request, Resource
from services.gateway.users.schema import AccountName, Description
from shared.filters.fields import Listing

RoleName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z][a-z0-9-]*$")]
PermissionName = Annotated[str, Field(min_length=1, max_length=64)]
PlaceName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f]+$")]


class RoleDefinition(Resource):
    """A named set of permissions: a built-in role or a custom role of the tenant."""

    name: str
    description: str
    permissions: list[str]
    built_in: bool
    tenant_only: bool = Field(
        description="True if the role has permissions that apply to the whole tenant only. Such a role cannot be granted on a workspace."
    )


class RolePage(Resource):
    """All roles, built-in roles first."""

    items: list[RoleDefinition]
    next_cursor: str | None = None


class CreateRoleRequest(Request):
    """A custom role. The caller must hold its permissions on the tenant."""

    name: RoleName
    description: Description = ""
    permissions: Annotated[list[PermissionName], Field(min_length=1, max_length=64)]


class RoleRequest(Request):
    """One role by name."""

    role: Reference


class EditRoleRequest(RoleRequest):
    """Changes to a custom role. Omitted fields keep their values."""

    description: Description | None = None
    permissions: Annotated[list[PermissionName], Field(max_length=64)] = Field(
        default=[], description="The new set of permissions. Empty: the permissions do not change."
    )


class RoleBinding(Resource):
    """A role that is granted to a user or a group."""

    id: UUID
    role: str
    user: str | None = None
    group: str | None = None
    workspace: str | None = Field(default=None, description="Null: the role applies to the whole tenant.")
    project: str | None = Field(default=None, description="Null: the role applies to the whole workspace.")
    created_at: datetime
    by: str = Field(description="Name of the user or token that granted the role.")


class RoleBindingPage(Resource):
    """A page of role bindings."""

    items: list[RoleBinding]
    next_cursor: str | None = None


class GrantRoleRequest(Request):
    """A role to grant to a user or a group, on the tenant, a workspace or a project."""

    role: Reference
    user: Reference | None = None
    group: Reference | None = None
    workspace: PlaceName | None = None
    project: PlaceName | None = None


class ListRoleBindingsRequest(ListRequest):
    """Role bindings, optionally of one role, one user, one group or one workspace. Bindings of a user's groups are not included."""

    listing = Listing.of(
        RoleBinding,
        *("role", "user", "group", "workspace", "project", "created_at", "by"),
        usual="id",
    )

    role: Reference | None = None
    user: Reference | None = None
    group: Reference | None = None
    workspace: PlaceName | None = None


class RoleBindingRequest(Request):
    """One role binding by its id."""

    binding: Reference


class Tenant(Resource):
    """A tenant, such as a company or a department. Tenants cannot see each other's data."""

    id: UUID
    name: str
    created_at: datetime


class ListTenantsRequest(ListRequest):
    """The tenants of the site."""

    listing = Listing.of(Tenant, *("name", "created_at"), usual="name")


class TenantPage(Resource):
    """A page of tenants by name."""

    items: list[Tenant]
    next_cursor: str | None = None


class CreateTenantRequest(Request):
    """A new tenant with one admin account."""

    name: AccountName
    ttl_s: Annotated[int, Field(ge=60, le=366 * 86400)] = 7 * 86400


class RecoverTenantRequest(Request):
    """A tenant whose users have lost access, by name."""

    tenant: Reference
    ttl_s: Annotated[int, Field(ge=60, le=7 * 86400)] = 86400


class CreatedTenant(Tenant):
    """A tenant with the secret of its admin account. Only this response contains the secret; use it to create other tokens."""

    secret: str
    expires_at: datetime
