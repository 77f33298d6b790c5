"""Maps operations to resources and methods of the client: by rule, with all exceptions listed here."""

import re
from collections.abc import Sequence
from typing import Any

from services.gateway.platform.operation import Operation

PLATFORM = "platform"
"""The resource of methods on the client itself."""

RESOURCES = {
    PLATFORM: "The platform itself: the caller, the platform's health, and search in logs.",
    "experiments": "Experiments: create, list, follow and control them. A reference is a number or an id.",
    "bulk": "Bulk actions on experiments, selected by reference or by a previewed filter.",
    "trials": "Trials with their runs, metrics and logs. A reference is an id, or `31.4` for trial 4 of experiment 31.",
    "exports": "Bulk exports of metrics and trial tables, as Arrow or Parquet.",
    "media": "Images, tables, texts and histograms of trials, and TensorBoard event files written by scripts.",
    "checkpoints": "Checkpoints of trials.",
    "models": "Registered models and their versions. A model reference is a name, `workspace/name` or an id; a version reference is a number, an alias or `latest`.",
    "cluster": "The cluster: workers, pools, instances, limits, reservations, usage and the queue.",
    "machines": "Rented machines: pools, available machine types, and costs.",
    "templates": "Templates: named partial configs that configs are merged into.",
    "policies": "Policies that limit or override experiment configs.",
    "operations": "Your long-running operations of the last day.",
    "quotas": "Quotas on open experiments, requests per second, and stored bytes of workspaces.",
    "budgets": "Monthly budgets and spending.",
    "users": "Users and service accounts of your tenant, and their tokens.",
    "groups": "Groups of users that share roles.",
    "roles": "Roles (sets of permissions) and role bindings.",
    "tenants": "Tenants of a site; needs site administrator rights.",
    "workspaces": "Workspaces, which contain experiments, models, roles and rules.",
    "secrets": "Secrets of workspaces, which runs get as environment variables or files. Values can be set, but not read.",
    "audit": "The audit log of your tenant, or of the site with `site`, and its verification.",
    "views": "Your saved views of the dashboard.",
    "webhooks": "Webhooks, which send events of a tenant, workspace or project to other systems, and their deliveries.",
    "sessions": "Sign-in sessions of users: create, list and revoke them.",
}
"""Descriptions of the resources, in the order of the documentation. Resources without an entry get a default description from their name."""

SEGMENTS = {
    "cluster": "workers pools limits limit reservations instances queue usage join-tokens retention",
    "machines": "machine-pools machine-kinds machine-costs machine-events cost-shares",
    "experiments": "events plans experiment-groups",
    "trials": "table columns phases",
    "checkpoints": "storage",
    "models": "lineage",
    "users": "tokens",
    "roles": "role-bindings",
    "sessions": "sign-in",
    PLATFORM: "me health",
}
"""Path segments of resources that have another name."""

RESOURCE_OF = {
    "PreviewExperiments": "bulk",
    "ActOnExperiments": "bulk",
    "LabelExperiments": "bulk",
    "TerminateInstance": "machines",
    "SearchLogs": PLATFORM,
    "ChangePassword": "sessions",
}
"""Operations whose path does not determine the resource."""

METHODS = {
    "PreviewExperiments": "preview",
    "ActOnExperiments": "act",
    "LabelExperiments": "label",
    "ListExperimentPhases": "phases_of",
    "ListTableColumns": "columns_of",
    "ListTrialCheckpoints": "of_trial",
    "ListExperimentCheckpoints": "of_experiment",
    "VerifyCheckpoints": "verify_all",
    "CreateModelVersion": "register",
    "DownloadModelVersion": "download",
    "CompareModelVersions": "compare",
    "ApproveModelStage": "approve",
    "RejectModelStage": "reject",
    "DrainWorker": "drain",
    "UndrainWorker": "undrain",
    "DrainWorkers": "drain_labelled",
    "UndrainWorkers": "undrain_labelled",
    "IssueJoinToken": "join_token",
    "TerminateInstance": "terminate",
    "LinkIdentity": "link",
    "UnlinkIdentity": "unlink",
    "AddGroupMember": "add",
    "RemoveGroupMember": "remove",
    "ReplayWebhookDelivery": "replay",
    "ReplayWebhookDeliveries": "replay_dead",
    "CreateSignInLink": "create_link",
    "ListSignInWays": "ways",
    "BeginSignIn": "begin",
    "FinishSignIn": "finish",
    "GetPlatformHealth": "platform_health",
}
"""Methods whose name does not follow the rule."""

WITHOUT_METHOD = {
    "CreateToken": "its token belongs to no user; only the installation of a site creates one",
    "JoinWorker": "machines call it without a client",
    "PutCode": "`experiments.put_code` uploads an archive unless it exists",
    "GetCode": "the same",
    "GetTrialMediaContent": "`media.read` fetches spans from the object store",
    "ExportMetrics": "`exports.metrics` waits for the files and fetches them",
    "ExportTable": "`exports.table` waits for the files and fetches them",
    "GetSearch": "`client.drive` implements the whole protocol",
    "ListSearchEvents": "the same",
    "TellSearch": "the same",
    "SetTenantQuota": "`quotas.set` chooses between the two by its workspace",
    "SetWorkspaceQuota": "the same",
    "SetTenantBudget": "`budgets.set` chooses between the two by its workspace",
    "SetWorkspaceBudget": "the same",
    "ListUserSessions": "`sessions.list` chooses between the two by its user",
    "RevokeUserSessions": "`sessions.revoke_all` returns how many there were",
    "ListSiteAudit": "`audit.list` chooses between the two by `site`",
    "ExportSiteAudit": "the same",
    "VerifySiteAudit": "the same",
    "GetSiteAuditHead": "the same",
}
"""Operations without a generated method, with reasons. Hand-written methods call most of them."""

_NAME_PARTS = re.compile(r"[A-Z][a-z0-9]*")
_READING = frozenset({"List", "Get", "Watch"})


def unknown_operations(rows: Sequence[Operation[Any, Any]]) -> set[str]:
    """Return the operations in the exception tables that do not exist."""
    return {*RESOURCE_OF, *METHODS, *WITHOUT_METHOD} - {row.name for row in rows}


def resource_of(row: Operation[Any, Any]) -> str:
    """Return the resource of the last matching path segment, or else of the first segment."""
    if row.name in RESOURCE_OF:
        return RESOURCE_OF[row.name]
    parts = row.path.split("/")[2:]
    return next(
        (resource for part in reversed(parts) if (resource := _resource_named(part))),
        parts[0].replace("-", "_"),
    )


def method_of(row: Operation[Any, Any]) -> str:
    """Return the operation's name without the resource, in snake case. Reading verbs are omitted: `pause`, `set_alias`, `journal`."""
    if row.name in METHODS:
        return METHODS[row.name]
    verb, *rest = _NAME_PARTS.findall(row.name)
    known = {resource_of(row), *_names_of(resource_of(row)), *_path_parents(row)}
    rest = [part_name.lower() for part_name in rest if part_name.lower() not in known]
    if rest and verb in _READING:
        return "_".join(rest)
    return "_".join([verb.lower(), *rest])


def class_of(resource: str) -> str:
    """Return the class name of a resource: `MachinePools` for `machine_pools`."""
    return "".join(part.capitalize() for part in resource.split("_"))


def description_of(resource: str) -> str:
    """Return the description of a resource, for the docstring of its class."""
    return RESOURCES.get(resource, f"The {resource.replace('_', ' ')} of the caller's tenant.")


def sorted_resources(resources: Sequence[str]) -> list[str]:
    """Return the resources in the order of the documentation; resources without an entry follow by name."""
    known = list(RESOURCES)
    return sorted(
        set(resources),
        key=lambda resource: (known.index(resource) if resource in known else len(known), resource),
    )


def _resource_named(part: str) -> str | None:
    owner = next((resource for resource, parts in SEGMENTS.items() if part in parts.split()), None)
    return owner or (part if part in RESOURCES else None)


def _path_parents(row: Operation[Any, Any]) -> set[str]:
    """Path parameters before the resource, such as `trial` in the path of a trial's media."""
    before, found, _ = row.path.partition(f"/{resource_of(row)}")
    return set(re.findall(r"\{(\w+)\}", before)) if found else set()


def _names_of(resource: str) -> set[str]:
    singular = f"{resource[:-3]}y" if resource.endswith("ies") else resource.removesuffix("s")
    return {singular, *resource.split("_"), *singular.split("_")}
