"""Roles, who was given them where, and the tenants of a site."""

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
    """A named set of permissions: one that every tenant has, or one that this tenant made."""

    name: str
    description: str
    permissions: list[str]
    built_in: bool
    tenant_only: bool = Field(
        description="It holds what counts on the tenant as a whole, so that it cannot be given on a workspace."
    )


class RolePage(Resource):
    """All roles, those that every tenant has first."""

    items: list[RoleDefinition]
    next_cursor: str | None = None


class CreateRoleRequest(Request):
    """A role made of permissions that the caller has on the tenant."""

    name: RoleName
    description: Description = ""
    permissions: Annotated[list[PermissionName], Field(min_length=1, max_length=64)]


class RoleRequest(Request):
    """One role by name."""

    role: Reference


class EditRoleRequest(RoleRequest):
    """Changes a role that the tenant made, for all who have it; what is left out stays as it is."""

    description: Description | None = None
    permissions: Annotated[list[PermissionName], Field(max_length=64)] = Field(
        default=[], description="In place of those before; none named: they stay."
    )


class RoleBinding(Resource):
    """A role given to a user or a group."""

    id: UUID
    role: str
    user: str | None = None
    group: str | None = None
    workspace: str | None = Field(default=None, description="None: on the tenant as a whole.")
    project: str | None = Field(default=None, description="None: on the workspace as a whole.")
    created_at: datetime
    by: str = Field(description="Who gave it.")


class RoleBindingPage(Resource):
    """A page of what was given."""

    items: list[RoleBinding]
    next_cursor: str | None = None


class GrantRoleRequest(Request):
    """A role for a user or a group, on the tenant, a workspace, or a project of one."""

    role: Reference
    user: Reference | None = None
    group: Reference | None = None
    workspace: PlaceName | None = None
    project: PlaceName | None = None


class ListRoleBindingsRequest(ListRequest):
    """What was given, of a role, to a user or a group itself, or on a workspace."""

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
    """One thing that was given, by its id."""

    binding: Reference


class Tenant(Resource):
    """A company or department of its own: none sees anything of another."""

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
    """A new tenant, which begins with one admin."""

    name: AccountName
    ttl_s: Annotated[int, Field(ge=60, le=366 * 86400)] = 7 * 86400


class RecoverTenantRequest(Request):
    """A tenant that nobody can get into any more, by its name."""

    tenant: Reference
    ttl_s: Annotated[int, Field(ge=60, le=7 * 86400)] = 86400


class CreatedTenant(Tenant):
    """A tenant with the secret of its first admin, which is shown this one time; whoever takes the tenant over makes tokens of their own."""

    secret: str
    expires_at: datetime
