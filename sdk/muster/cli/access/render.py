"""How users, roles and webhooks' places look."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client.models import RoleBinding, RoleDefinition, User


def place_of(workspace: str | None, project: str | None) -> str:
    """Return where a role counts, in words."""
    if workspace is None:
        return "the tenant"
    return f"workspace {workspace}" if project is None else f"project {project} of workspace {workspace}"


def kind_of(user: "User") -> str:
    """Return whether it is a person or a program."""
    return str(user.kind).replace("_", " ")


def state_of(user: "User") -> str:
    """Return whether a user may do anything."""
    return "active" if user.disabled_at is None else "disabled"


def groups_of(user: "User") -> str:
    """Say which groups a user is in."""
    return f"{user.name} is in {', '.join(user.groups) or 'no group'}"


def role_facts(role: "RoleDefinition") -> list[tuple[str, object]]:
    """Return what a role is and may."""
    may = [("may", permission) for permission in role.permissions]
    return [("role", role.name), ("", role.description), *may]


def may(role: "RoleDefinition") -> str:
    """Say what a role may."""
    return f"role {role.name} may {', '.join(role.permissions)}"


def granted(binding: "RoleBinding") -> str:
    """Say what was given to whom, and where it counts."""
    return f"{_who(binding)} is {binding.role} on {place_of(binding.workspace, binding.project)}"


def revoked(binding: "RoleBinding") -> str:
    """Say what was taken from whom."""
    return f"{_who(binding)} is no longer {binding.role} on {place_of(binding.workspace, binding.project)}"


def _who(binding: "RoleBinding") -> str:
    return binding.user or f"group {binding.group}"
