"""Who holds which permission where: roles that were given on places, added up."""

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
}
"""What row-level security narrows, with the permissions that say to where."""

_EVERYTHING, _NOTHING = "", "-"


@dataclass(frozen=True, slots=True)
class Scope:
    """A tenant as a whole, a workspace of it, or a project of that."""

    workspace: str | None = None
    project: str | None = None

    def covers(self, other: Self) -> bool:
        """True when what counts here counts there too."""
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
    """A role that somebody has, and where, as they are told."""

    role: str
    place: Scope = TENANT_SCOPE

    def __str__(self) -> str:
        return self.role if self.place == TENANT_SCOPE else f"{self.role} in {self.place}"


@dataclass(frozen=True, slots=True)
class Binding:
    """A role as it was given on a place."""

    role: str
    permissions: Permissions
    place: Scope = TENANT_SCOPE


@dataclass(frozen=True, slots=True)
class Grants:
    """Each permission that is held, with the places where it is."""

    held: Mapping[Permission, frozenset[Scope]]
    _narrowed: dict[Permission | Access, Mapping[str, str]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What `row_filters` has found: it is asked for by every call of a caller who is remembered."""

    def holds(self, permission: Permission, place: Scope | None = None) -> bool:
        """True when it is held at `place`; without one, when it is held anywhere."""
        places = self.held.get(permission, frozenset())
        return bool(places) if place is None else any(one.covers(place) for one in places)

    @property
    def only_workspace(self) -> str | None:
        """The one workspace that all that is held counts in; None where it is several, or the tenant."""
        places = {
            place.workspace
            for permission, held in self.held.items()
            if permission is not Permission.SELF
            for place in held
        }
        return next(iter(places)) if len(places) == 1 else None

    def covers(self, other: "Grants") -> bool:
        """True when all that the other holds is held here: nobody hands out what they have not."""
        return all(
            self.holds(permission, place) for permission, places in other.held.items() for place in places
        )

    def within(self, permission: Permission) -> str:
        """Where the permission is held, as the database's row-level security reads it: nothing written for everywhere.

        Names are written as hexadecimal digits, so that no text of a user stands in a statement.
        """
        places = self.held.get(permission, frozenset())
        if TENANT_SCOPE in places:
            return _EVERYTHING
        return ",".join(sorted(map(_digits, places))) or _NOTHING


def combine_bindings(bindings: Iterable[Binding], scope: Permissions | None = None) -> Grants:
    """What the bindings come to, narrowed to `scope` where one is given. Everybody may ask who they are."""
    held: dict[Permission, set[Scope]] = {Permission.SELF: {TENANT_SCOPE}}
    for binding in bindings:
        counted = binding.permissions if binding.place == TENANT_SCOPE else binding.permissions - WIDE
        for permission in counted if scope is None else counted & scope:
            held.setdefault(permission, set()).add(binding.place)
    return Grants({permission: frozenset(places) for permission, places in held.items()})


def row_filters(grants: Grants, needed: Permission | Access) -> Mapping[str, str]:
    """By kind of row, where the caller may do what is needed, or else may look; kinds that are seen everywhere are left out."""
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
    return {kind: places for kind, needs in asked.items() if (places := grants.within(needs))}


def nearest_role(grants: Grants) -> str:
    """The widest of the first four roles of which all is held on the tenant: what clients of before are told."""
    names = ("admin", "editor", "operator", "viewer")
    whole = (name for name in names if all(grants.holds(one, TENANT_SCOPE) for one in ROLES[name]))
    return next(whole, "viewer")


def _digits(place: Scope) -> str:
    workspace = (place.workspace or "").encode().hex()
    return workspace if place.project is None else f"{workspace}/{place.project.encode().hex()}"
