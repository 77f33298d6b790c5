"""Combines role bindings into the permissions that a caller holds, with their scopes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from services.gateway.platform.auth.permissions import (
    BINDINGS,
    EXPERIMENTS,
    MODELS,
    ROLES,
    WIDE,
    Access,
    Permission,
    Permissions,
)

_KINDS = {
    "experiments": EXPERIMENTS,
    "models": MODELS,
    "bindings": BINDINGS,
    "limits": frozenset({Permission.CLUSTER_READ}),
    "templates": frozenset({Permission.POLICY_MANAGE}),
    "webhooks": frozenset({Permission.WEBHOOK_MANAGE}),
    "secrets": frozenset({Permission.SECRET_MANAGE}),
}
"""Kinds of rows that row-level security filters, with the permissions whose scopes it filters by."""

_EVERYTHING, _NOTHING = "", "-"


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope: the whole tenant, a workspace, or a project of a workspace."""

    workspace: str | None = None
    project: str | None = None

    def covers(self, other: Self) -> bool:
        """True if `other` lies within this scope."""
        if self.workspace is None:
            return True
        return self.workspace == other.workspace and self.project in (None, other.project)

    def __str__(self) -> str:
        if self.workspace is None:
            return "the tenant"
        workspace = f"workspace '{self.workspace}'"
        return workspace if self.project is None else f"project '{self.project}' of {workspace}"


TENANT_SCOPE = Scope()


@dataclass(frozen=True, slots=True)
class AssignedRole:
    """A role of a caller and its scope, for messages and responses."""

    role: str
    scope: Scope = TENANT_SCOPE

    def __str__(self) -> str:
        return self.role if self.scope == TENANT_SCOPE else f"{self.role} in {self.scope}"


@dataclass(frozen=True, slots=True)
class Binding:
    """A role granted in a scope."""

    role: str
    permissions: Permissions
    scope: Scope = TENANT_SCOPE


@dataclass(frozen=True, slots=True)
class Grants:
    """The permissions that a caller holds, each with its scopes."""

    held: Mapping[Permission, frozenset[Scope]]
    _narrowed: dict[Permission | Access, Mapping[str, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Cache of `row_filters`, which every call of a cached caller needs."""

    def holds(self, permission: Permission, scope: Scope | None = None) -> bool:
        """True if the permission is held in `scope`, or in any scope if `scope` is None."""
        scopes = self.held.get(permission, frozenset())
        return bool(scopes) if scope is None else any(one.covers(scope) for one in scopes)

    @property
    def only_workspace(self) -> str | None:
        """The workspace of all permissions; None if there are several workspaces, or the tenant is a scope."""
        workspaces = {
            scope.workspace
            for permission, held in self.held.items()
            if permission is not Permission.SELF
            for scope in held
        }
        return next(iter(workspaces)) if len(workspaces) == 1 else None

    def covers(self, other: "Grants") -> bool:
        """True if these grants include all of `other`. Callers can only grant what they hold."""
        return all(
            self.holds(permission, scope) for permission, scopes in other.held.items() for scope in scopes
        )

    def scopes_text(self, permission: Permission) -> str:
        """Return the scopes of a permission in the format of the database's row-level security; empty for the whole tenant.

        Names are hex-encoded, so that no text of users gets into a statement.
        """
        scopes = self.held.get(permission, frozenset())
        if TENANT_SCOPE in scopes:
            return _EVERYTHING
        return ",".join(sorted(map(_digits, scopes))) or _NOTHING


def combine_bindings(bindings: Iterable[Binding], limit_to: Permissions | None = None) -> Grants:
    """Combine bindings into grants, limited to the permissions in `limit_to` if given. Every caller holds `self`."""
    held: dict[Permission, set[Scope]] = {Permission.SELF: {TENANT_SCOPE}}
    for binding in bindings:
        counted = binding.permissions if binding.scope == TENANT_SCOPE else binding.permissions - WIDE
        for permission in counted if limit_to is None else counted & limit_to:
            held.setdefault(permission, set()).add(binding.scope)
    return Grants({permission: frozenset(scopes) for permission, scopes in held.items()})


def row_filters(grants: Grants, needed: Permission | Access) -> Mapping[str, str]:
    """Return the scopes that row-level security filters by, per kind of row: those of the needed permission, or else of the read permission.

    Kinds that the caller may access in the whole tenant are left out.
    """
    found = grants._narrowed.get(needed)
    if found is None:
        found = grants._narrowed[needed] = _narrow(grants, needed)
    return found


def _narrow(grants: Grants, needed: Permission | Access) -> Mapping[str, str]:
    asked = {
        "experiments": Permission.EXPERIMENT_READ,
        "models": Permission.MODEL_READ,
        "templates": Permission.EXPERIMENT_READ,
        "budgets": Permission.CLUSTER_READ,
    }
    if isinstance(needed, Permission):
        asked |= {kind: needed for kind, permissions in _KINDS.items() if needed in permissions}
    return {kind: scopes for kind, needs in asked.items() if (scopes := grants.scopes_text(needs))}


def nearest_role(grants: Grants) -> str:
    """Return the widest of the four basic roles whose permissions are all held on the whole tenant. Older clients read it."""
    names = ("admin", "editor", "operator", "viewer")
    whole = (name for name in names if all(grants.holds(one, TENANT_SCOPE) for one in ROLES[name]))
    return next(whole, "viewer")


def _digits(scope: Scope) -> str:
    workspace = (scope.workspace or "").encode().hex()
    return workspace if scope.project is None else f"{workspace}/{scope.project.encode().hex()}"
