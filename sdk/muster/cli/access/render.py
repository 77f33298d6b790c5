"""Formatting of users, groups, roles and role bindings."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from muster.client.models import (
        CreatedTenant,
        CreatedToken,
        CreatedWebhook,
        RoleBinding,
        RoleDefinition,
        User,
    )


def scope_of(workspace: str | None, project: str | None) -> str:
    """Format the scope of a role binding."""
    if workspace is None:
        return "the tenant"
    return f"workspace {workspace}" if project is None else f"project {project} of workspace {workspace}"


def kind_of(user: "User") -> str:
    """Format the kind of a user."""
    return str(user.kind).replace("_", " ")


def state_of(user: "User") -> str:
    """Return `active` or `disabled`."""
    return "active" if user.disabled_at is None else "disabled"


def membership_message(user: "User") -> str:
    """Return the message that lists the groups of a user."""
    return f"{user.name} is in {', '.join(user.groups) or 'no groups'}"


def role_facts(role: "RoleDefinition") -> list[tuple[str, object]]:
    """Return the name, description and permissions of a role."""
    may = [("may", permission) for permission in role.permissions]
    return [("role", role.name), ("", role.description), *may]


def permissions_message(role: "RoleDefinition") -> str:
    """Return the message that lists the permissions of a role."""
    return f"role {role.name} may {', '.join(role.permissions)}"


def grant_message(binding: "RoleBinding") -> str:
    """Return the message after a role was granted."""
    return f"{_who(binding)} has role {binding.role} on {scope_of(binding.workspace, binding.project)}"


def revoke_message(binding: "RoleBinding") -> str:
    """Return the message after a role was revoked."""
    return (
        f"{_who(binding)} no longer has role {binding.role} on {scope_of(binding.workspace, binding.project)}"
    )


def _who(binding: "RoleBinding") -> str:
    return binding.user or f"group {binding.group}"


def state_message(user: "User") -> str:
    """Return the message about the state of a user."""
    return f"{user.name} is {state_of(user)}"


def print_secret(found: "CreatedToken | CreatedTenant | CreatedWebhook") -> None:
    """Print the secret of a created token, tenant or webhook."""
    print(found.secret)
