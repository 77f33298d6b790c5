"""Who there is, and who may do what: users, groups, roles, and the tenants of a site."""

from collections.abc import Sequence

from pydantic import JsonValue

from muster.client import models
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Query, Reference, Transport, segment

Body = dict[str, JsonValue]


class Users:
    """People and service accounts of one's tenant."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        *,
        kind: models.UserKind = models.UserKind.PERSON,
        display_name: str = "",
    ) -> models.User:
        """Add a user, which may do nothing until it is given a role."""
        body: Body = {"name": name, "kind": str(kind), "display_name": display_name}
        return self._transport.post(models.User, "/v1/users", body)

    def list(self, group: Reference | None = None, *, filter: str = "", sort: str = "") -> Items[models.User]:
        """Return the users of one group or all, by name or as they are sorted; `filter` as `kind = service_account and disabled_at is absent`."""
        query: Query = {"group": _name(group), **ordered(filter, sort)}
        return pages(self._transport, models.UserPage, "/v1/users", query)

    def get(self, user: Reference) -> models.User:
        """Return one user, by name or id."""
        return self._transport.get(models.User, f"/v1/users/{segment(user)}")

    def edit(
        self, user: Reference, *, display_name: str | None = None, disabled: bool | None = None
    ) -> models.User:
        """Change a user's shown name; `disabled` ends all its tokens, and False lets them count again."""
        body = _given(display_name=display_name, disabled=disabled)
        return self._transport.patch(models.User, f"/v1/users/{segment(user)}", body)

    def create_token(
        self, user: Reference, name: str, *, scope: Sequence[str] = (), ttl_s: int = 30 * 86400
    ) -> models.CreatedToken:
        """Make a token with which a user does what its roles let it, or of that only the permissions in `scope`."""
        body: Body = {"name": name, "scope": [*scope], "ttl_s": ttl_s}
        return self._transport.post(models.CreatedToken, f"/v1/users/{segment(user)}/tokens", body)

    def tokens(self, *, filter: str = "", sort: str = "") -> Items[models.Token]:
        """Return the tokens of one's tenant, newest first, those that are revoked too; `filter` as `user = ada and revoked_at is absent`."""
        return pages(self._transport, models.TokenPage, "/v1/tokens", ordered(filter, sort))

    def revoke_token(self, token: Reference) -> models.Token:
        """End a token, by its id; it is refused everywhere within two seconds."""
        return self._transport.delete(models.Token, f"/v1/tokens/{segment(token)}")

    def set_password(self, user: Reference, password: str) -> None:
        """Give a person a password; that person's sessions end."""
        self._transport.put(models.Done, f"/v1/users/{segment(user)}/password", {"password": password})

    def link(self, user: Reference, provider: str, subject: str) -> models.Identity:
        """Let a user sign in, or a program call, as this subject of a provider."""
        body: Body = {"provider": provider, "subject": subject}
        return self._transport.post(models.Identity, _identities(user), body)

    def identities(self, user: Reference) -> Sequence[models.Identity]:
        """Return what a user is known by at providers, oldest first."""
        return self._transport.get(models.IdentityList, _identities(user)).items

    def unlink(self, user: Reference, identity: Reference) -> models.Identity:
        """Take from a user what it is known by at a provider, by its id; its sessions end."""
        return self._transport.delete(models.Identity, f"{_identities(user)}/{segment(identity)}")


class Groups:
    """Users who are given roles together."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, *, description: str = "") -> models.Group:
        """Make a group without members."""
        return self._transport.post(models.Group, "/v1/groups", {"name": name, "description": description})

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Group]:
        """Return the groups by name, or as they are sorted; `filter` as `members = 0`."""
        return pages(self._transport, models.GroupPage, "/v1/groups", ordered(filter, sort))

    def get(self, group: Reference) -> models.Group:
        """Return one group, by name or id."""
        return self._transport.get(models.Group, f"/v1/groups/{segment(group)}")

    def delete(self, group: Reference) -> None:
        """Take a group away with all that was given to it; its members stay."""
        self._transport.delete(models.Done, f"/v1/groups/{segment(group)}")

    def add(self, group: Reference, user: Reference) -> models.User:
        """Put a user into a group."""
        return self._transport.put(models.User, _member(group, user), {})

    def remove(self, group: Reference, user: Reference) -> models.User:
        """Take a user out of a group."""
        return self._transport.delete(models.User, _member(group, user))


class Roles:
    """Sets of permissions, and who was given them where."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> Sequence[models.RoleDefinition]:
        """Return the roles that every tenant has, and then those that one's tenant made."""
        return self._transport.get(models.RolePage, "/v1/roles").items

    def get(self, role: str) -> models.RoleDefinition:
        """Return one role with its permissions."""
        return self._transport.get(models.RoleDefinition, f"/v1/roles/{segment(role)}")

    def create(
        self, name: str, permissions: Sequence[str], *, description: str = ""
    ) -> models.RoleDefinition:
        """Make a role of permissions that one has on the tenant."""
        body: Body = {"name": name, "permissions": [*permissions], "description": description}
        return self._transport.post(models.RoleDefinition, "/v1/roles", body)

    def edit(
        self, role: str, *, permissions: Sequence[str] = (), description: str | None = None
    ) -> models.RoleDefinition:
        """Change a role that the tenant made, for all who have it; what is left out stays."""
        body = _given(description=description) | {"permissions": [*permissions]}
        return self._transport.patch(models.RoleDefinition, f"/v1/roles/{segment(role)}", body)

    def delete(self, role: str) -> None:
        """Take a role away that the tenant made and nobody has."""
        self._transport.delete(models.Done, f"/v1/roles/{segment(role)}")

    def grant(
        self,
        role: str,
        *,
        user: Reference | None = None,
        group: Reference | None = None,
        workspace: str | None = None,
        project: str | None = None,
    ) -> models.RoleBinding:
        """Give a role to a user or a group: on the tenant, a workspace, or a project of one."""
        body = _given(role=role, user=_name(user), group=_name(group), workspace=workspace, project=project)
        return self._transport.post(models.RoleBinding, "/v1/role-bindings", body)

    def bindings(
        self,
        *,
        role: str | None = None,
        user: Reference | None = None,
        group: Reference | None = None,
        workspace: str | None = None,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.RoleBinding]:
        """Return what was given: of a role, to a user or a group itself, on a workspace; `filter` as `project = vision and by = ada`."""
        named: Query = {"role": role, "user": _name(user), "group": _name(group), "workspace": workspace}
        query = {**named, **ordered(filter, sort)}
        return pages(self._transport, models.RoleBindingPage, "/v1/role-bindings", query)

    def revoke(self, binding: Reference) -> models.RoleBinding:
        """Take back what was given, by its id."""
        return self._transport.delete(models.RoleBinding, f"/v1/role-bindings/{segment(binding)}")


class Tenants:
    """The tenants of a site, for who keeps it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, *, ttl_s: int = 7 * 86400) -> models.CreatedTenant:
        """Make a tenant; the answer holds the token of its first admin, this one time."""
        return self._transport.post(models.CreatedTenant, "/v1/tenants", {"name": name, "ttl_s": ttl_s})

    def recover(self, tenant: str, *, ttl_s: int = 86400) -> models.CreatedTenant:
        """Let a tenant in again whose admins have lost their access; the answer holds a token of its first admin, this one time."""
        path = f"/v1/tenants/{segment(tenant)}/recover"
        return self._transport.post(models.CreatedTenant, path, {"ttl_s": ttl_s})

    def delete(self, tenant: str) -> models.Deletion:
        """Delete everything that a tenant has, but for its audit log; its people cannot come in any more from then on."""
        return self._transport.delete(models.Deletion, f"/v1/tenants/{segment(tenant)}")

    def list(self, *, filter: str = "", sort: str = "") -> Items[models.Tenant]:
        """Return the tenants by name, or as they are sorted; `filter` as `created_at > "2026-11-01"`."""
        return pages(self._transport, models.TenantPage, "/v1/tenants", ordered(filter, sort))


def _identities(user: Reference) -> str:
    return f"/v1/users/{segment(user)}/identities"


def _member(group: Reference, user: Reference) -> str:
    return f"/v1/groups/{segment(group)}/members/{segment(user)}"


def _name(reference: Reference | None) -> str | None:
    return None if reference is None else str(reference)


def _given(**fields: JsonValue) -> Body:
    return {name: value for name, value in fields.items() if value is not None}
