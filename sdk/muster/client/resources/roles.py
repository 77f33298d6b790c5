"""Roles (sets of permissions) and role bindings.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import json_body, query_params, text
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class Roles(APIResource):
    """Roles (sets of permissions) and role bindings."""

    def create(
        self, name: str, permissions: Sequence[str], *, description: str = ""
    ) -> models.RoleDefinition:
        """Create a role from permissions. Callers can only use permissions that they hold themselves."""
        return self._transport.post(
            models.RoleDefinition,
            "/v1/roles",
            json_body(name=name, permissions=permissions, description=description),
        )

    def list(self) -> Sequence[models.RoleDefinition]:
        """List the roles that can be granted, built-in roles first."""
        return self._transport.get(models.RolePage, "/v1/roles").items

    def get(self, role: Reference) -> models.RoleDefinition:
        """Get one role with its permissions."""
        return self._transport.get(models.RoleDefinition, f"/v1/roles/{segment(role)}")

    def edit(
        self, role: Reference, *, description: str | None = None, permissions: Sequence[str] = ()
    ) -> models.RoleDefinition:
        """Change a custom role. The change applies to every user who has it.

        Args:
            permissions: The new set of permissions. Empty: the permissions do not change.
        """
        return self._transport.patch(
            models.RoleDefinition,
            f"/v1/roles/{segment(role)}",
            json_body(description=description, permissions=permissions or None),
        )

    def delete(self, role: Reference) -> None:
        """Delete a custom role that has no bindings."""
        self._transport.delete(models.Done, f"/v1/roles/{segment(role)}")

    def grant(
        self,
        role: Reference,
        *,
        user: Reference | None = None,
        group: Reference | None = None,
        workspace: str | None = None,
        project: str | None = None,
    ) -> models.RoleBinding:
        """Grant a role to a user or a group on the tenant, a workspace or a project. Repeating the request has no effect."""
        return self._transport.post(
            models.RoleBinding,
            "/v1/role-bindings",
            json_body(
                role=text(role), user=text(user), group=text(group), workspace=workspace, project=project
            ),
        )

    def bindings(
        self,
        *,
        role: Reference | None = None,
        user: Reference | None = None,
        group: Reference | None = None,
        workspace: str | None = None,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.RoleBinding]:
        """List role bindings, as far as the caller may read access settings.

        Args:
            filter: An expression over `role`, `user`, `group`, `workspace`, `project`, `created_at`, `by`.
            sort: Up to four of these fields, separated by commas, with `-` for descending.
        """
        return pages(
            self._transport,
            models.RoleBindingPage,
            "/v1/role-bindings",
            query_params(
                role=text(role),
                user=text(user),
                group=text(group),
                workspace=workspace,
                filter=filter,
                sort=sort,
            ),
        )

    def revoke(self, binding: Reference) -> models.RoleBinding:
        """Revoke a role binding. Callers can only revoke roles whose permissions they hold themselves."""
        return self._transport.delete(models.RoleBinding, f"/v1/role-bindings/{segment(binding)}")


class AsyncRoles(AsyncAPIResource[Roles]):
    """`Roles`, awaited."""

    create = awaited(Roles.create)
    list = awaited(Roles.list)
    get = awaited(Roles.get)
    edit = awaited(Roles.edit)
    delete = awaited(Roles.delete)
    grant = awaited(Roles.grant)
    bindings = listed(Roles.bindings)
    revoke = awaited(Roles.revoke)
