"""What may be done, and the roles that are sets of it. Neighbour: `grants`, which knows who holds them where."""

from enum import StrEnum


class Permission(StrEnum):
    """What a row of the table of operations asks of its caller."""

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
    """What stands in a permission's place where no access token is asked for; each is named in a test."""

    PUBLIC = "public"
    JOIN_TOKEN = "join_token"


Permissions = frozenset[Permission]

EXPERIMENTS = frozenset(
    {Permission.EXPERIMENT_READ, Permission.EXPERIMENT_WRITE, Permission.CHECKPOINT_DOWNLOAD}
)
"""Those about an experiment and what came of it."""
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
"""About what belongs to no tenant. No tenant's admin has them, so none can hand them out."""
WIDE = SITE | {Permission.TOKEN_MANAGE, Permission.ACCESS_MANAGE, Permission.AUDIT_READ}
"""These count on the tenant as a whole only; a role that holds one cannot be given on a workspace."""

_VIEW = frozenset(
    {
        Permission.SELF,
        Permission.EXPERIMENT_READ,
        Permission.MODEL_READ,
        Permission.CHECKPOINT_DOWNLOAD,
        Permission.CLUSTER_READ,
    }
)
_EDIT = _VIEW | {Permission.EXPERIMENT_WRITE, Permission.CODE_WRITE, Permission.MODEL_WRITE}
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
"""The roles that every tenant has, widest first. An operator sees tenants' machines and no tenant's content."""


def parse_permissions(names: list[str]) -> Permissions:
    """Those of the names that are permissions here; a newer replica may know more."""
    known = {str(permission) for permission in Permission}
    return frozenset(Permission(name) for name in names if name in known)
