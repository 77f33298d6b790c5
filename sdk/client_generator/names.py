"""Maps operations to resources and methods of the client: by rule, with all exceptions listed here."""

import re
from collections.abc import Sequence
from typing import Any

from services.gateway.platform.operation import Operation

PLATFORM = "platform"
"""The resource of the methods that the client itself has."""

RESOURCES = {
    PLATFORM: "The platform itself: who calls, whether it works, and the logs of many trials.",
    "experiments": "Experiments: create, follow, steer and list them. A reference is a number or an id.",
    "bulk": "Experiments by the dozen: named, or chosen by a filter after a look at what it meets.",
    "trials": "Trials with their runs, metrics and logs. A reference is an id, or `31.4`: trial 4 of experiment 31.",
    "exports": "Metrics in bulk, as Arrow and Parquet.",
    "media": "Images, tables, texts and histograms of trials, and the event files that their scripts wrote for TensorBoard.",
    "checkpoints": "Saved states of trials.",
    "models": "Registered models and their versions. A reference is a name, `workspace/name` or an id, a version's a number, an alias, or `latest`.",
    "cluster": "Workers, pools, instances and the queue: the machines and who waits for them.",
    "machines": "Rented machines: pools of them, what can be rented, and what it has cost.",
    "templates": "Parts of configs under a name, over which a config is laid.",
    "policies": "What experiments' configs are held to.",
    "operations": "One's own operations of the last day that took longer than their request waited.",
    "quotas": "How many experiments may be open at once, how many requests a second may be sent, and what a workspace may store.",
    "budgets": "What is spent in a month, and may be.",
    "users": "People and service accounts of one's tenant, and their tokens.",
    "groups": "Users who are given roles together.",
    "roles": "Sets of permissions, and who was given them where.",
    "tenants": "The tenants of a site, for who keeps it.",
    "workspaces": "Workspaces: names that experiments, models, roles and rules stand under.",
    "audit": "Who did what in one's tenant, or, with `site`, to the site; and the proof that nothing of it was changed.",
    "views": "One's own named places of the dashboard.",
    "webhooks": "Addresses that are sent what happens in a tenant, a workspace or a project, and what became of each event.",
    "sessions": "Sign-ins of people: how they begin, which there are, and how they end.",
}
"""Descriptions of the resources, in the order of the documentation. A new resource does not need an entry: its default description is made of its name."""

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
    "CreateToken": "its token is no user's, so that only who set a site up makes one",
    "JoinWorker": "a machine calls it, which has no client",
    "PutCode": "`experiments.put_code` sends an archive after a look whether it is there",
    "GetCode": "the same",
    "GetTrialMediaContent": "`media.read` fetches spans from the object store",
    "ExportMetrics": "`exports.metrics` waits for the files and fetches them",
    "ExportTable": "`exports.table` waits for the files and fetches them",
    "GetSearch": "`client.drive` has the whole exchange",
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
"""Operations without a generated method, and the reason. Hand-written methods call most of them."""

_WORDS = re.compile(r"[A-Z][a-z0-9]*")
_READING = frozenset({"List", "Get", "Watch"})


def unknown_operations(rows: Sequence[Operation[Any, Any]]) -> set[str]:
    """Return the operations in the exception tables that do not exist."""
    return {*RESOURCE_OF, *METHODS, *WITHOUT_METHOD} - {row.name for row in rows}


def resource_of(row: Operation[Any, Any]) -> str:
    """Return the resource that the last matching path segment names, or else the first segment."""
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
    verb, *rest = _WORDS.findall(row.name)
    known = {resource_of(row), *_names_of(resource_of(row)), *_path_parents(row)}
    rest = [word.lower() for word in rest if word.lower() not in known]
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
    """The path parameters before the resource, such as `trial` in the path of a trial's media."""
    before, found, _ = row.path.partition(f"/{resource_of(row)}")
    return set(re.findall(r"\{(\w+)\}", before)) if found else set()


def _names_of(resource: str) -> set[str]:
    singular = f"{resource[:-3]}y" if resource.endswith("ies") else resource.removesuffix("s")
    return {singular, *resource.split("_"), *singular.split("_")}
