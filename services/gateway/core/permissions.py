"""Who may do what: permissions, and the roles that are sets of them."""

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
    CLUSTER_READ = "cluster.read"
    CLUSTER_MANAGE = "cluster.manage"
    WORKER_JOIN = "worker.join"
    TOKEN_MANAGE = "token.manage"
    SELF = "self"


class Access(StrEnum):
    """What stands in a permission's place where no access token is asked for; each is named in a test."""

    PUBLIC = "public"
    JOIN_TOKEN = "join_token"


_READ = frozenset(
    {
        Permission.SELF,
        Permission.EXPERIMENT_READ,
        Permission.MODEL_READ,
        Permission.CHECKPOINT_DOWNLOAD,
        Permission.CLUSTER_READ,
    }
)
_EDIT = _READ | {
    Permission.EXPERIMENT_WRITE,
    Permission.CODE_WRITE,
    Permission.MODEL_WRITE,
}

_SITE = frozenset({Permission.WORKER_JOIN, Permission.CLUSTER_MANAGE})

ROLES: dict[str, frozenset[Permission]] = {
    "viewer": _READ,
    "editor": _EDIT,
    "admin": _EDIT | {Permission.MODEL_APPROVE, Permission.TOKEN_MANAGE, Permission.RETENTION_MANAGE} | _SITE,
    "operator": _SITE | {Permission.SELF, Permission.CLUSTER_READ},
}
"""An operator sees tenants' machines and no tenant's content."""


def sees_all_tenants(role: str) -> bool:
    """True for who keeps the site: how much each tenant uses, never for what."""
    return role == "operator"


def may_grant(role: str, granted: str) -> bool:
    """True when a caller of `role` may hand out `granted`: never more than it has itself."""
    return ROLES[granted] <= ROLES[role]
