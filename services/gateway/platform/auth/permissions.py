"""Permissions, and the built-in roles as sets of permissions. `grants` combines them with scopes."""

from enum import StrEnum


class Permission(StrEnum):
    """A permission that an operation requires of its caller."""

    EXPERIMENT_READ = "experiment.read"
    EXPERIMENT_WRITE = "experiment.write"
    CODE_WRITE = "code.write"
    MODEL_READ = "model.read"
    MODEL_WRITE = "model.write"
    MODEL_APPROVE = "model.approve"
    CHECKPOINT_DOWNLOAD = "checkpoint.download"
    RETENTION_MANAGE = "retention.manage"
    POLICY_MANAGE = "policy.manage"
    WEBHOOK_MANAGE = "webhook.manage"
    SECRET_MANAGE = "secret.manage"
    CLUSTER_READ = "cluster.read"
    CLUSTER_MANAGE = "cluster.manage"
    WORKER_JOIN = "worker.join"
    TOKEN_MANAGE = "token.manage"
    ACCESS_READ = "access.read"
    ACCESS_GRANT = "access.grant"
    ACCESS_MANAGE = "access.manage"
    AUDIT_READ = "audit.read"
    SITE_AUDIT = "site.audit"
    TENANT_READ = "tenant.read"
    TENANT_MANAGE = "tenant.manage"
    SELF = "self"


class Access(StrEnum):
    """Takes the place of a permission for operations without an access token. A test lists all such operations."""

    PUBLIC = "public"
    JOIN_TOKEN = "join_token"


Permissions = frozenset[Permission]

EXPERIMENTS = frozenset(
    {Permission.EXPERIMENT_READ, Permission.EXPERIMENT_WRITE, Permission.CHECKPOINT_DOWNLOAD}
)
"""Permissions on experiments and their results."""
MODELS = frozenset({Permission.MODEL_READ, Permission.MODEL_WRITE, Permission.MODEL_APPROVE})
BINDINGS = frozenset({Permission.ACCESS_READ, Permission.ACCESS_GRANT})
SITE = frozenset(
    {
        Permission.CLUSTER_MANAGE,
        Permission.WORKER_JOIN,
        Permission.TENANT_READ,
        Permission.TENANT_MANAGE,
        Permission.SITE_AUDIT,
    }
)
"""Permissions on the site, beyond any tenant. Tenant admins do not hold them, so they cannot grant them."""
WIDE = SITE | {Permission.TOKEN_MANAGE, Permission.ACCESS_MANAGE, Permission.AUDIT_READ}
"""Permissions that apply to the whole tenant only. Roles with one of them cannot be granted on a workspace."""

_VIEW = frozenset(
    {
        Permission.SELF,
        Permission.EXPERIMENT_READ,
        Permission.MODEL_READ,
        Permission.CHECKPOINT_DOWNLOAD,
        Permission.CLUSTER_READ,
    }
)
_EDIT = _VIEW | {
    Permission.EXPERIMENT_WRITE,
    Permission.CODE_WRITE,
    Permission.MODEL_WRITE,
    Permission.SECRET_MANAGE,
}
_LEAD = _EDIT | {
    Permission.MODEL_APPROVE,
    Permission.RETENTION_MANAGE,
    Permission.POLICY_MANAGE,
    Permission.WEBHOOK_MANAGE,
    Permission.ACCESS_READ,
    Permission.ACCESS_GRANT,
}

ADMIN, OPERATOR = "admin", "operator"
ROLES: dict[str, Permissions] = {
    ADMIN: _LEAD | {Permission.TOKEN_MANAGE, Permission.ACCESS_MANAGE, Permission.AUDIT_READ},
    "workspace-admin": _LEAD,
    "editor": _EDIT,
    "approver": _VIEW | {Permission.MODEL_APPROVE},
    "viewer": _VIEW,
    "auditor": frozenset(
        {Permission.SELF, Permission.ACCESS_READ, Permission.AUDIT_READ, Permission.CLUSTER_READ}
    ),
    OPERATOR: SITE | {Permission.SELF, Permission.CLUSTER_READ},
}
"""The built-in roles, widest first. Operators see tenants' machines, but no tenant's content."""


def parse_permissions(names: list[str]) -> Permissions:
    """Return the permissions with these names. Unknown names, perhaps of a newer replica, are ignored."""
    known = {str(permission) for permission in Permission}
    return frozenset(Permission(name) for name in names if name in known)
