"""Which noun of the client an operation belongs to, and what its method is called: by rule, and here is every exception."""

import re
from collections.abc import Sequence
from typing import Any

from services.gateway.platform.operation import Operation

PLATFORM = "platform"
"""The noun of what the client itself can do."""

NOUNS = {
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
"""What the client has, in the order in which it is told. A new resource need not be here: it is then told by its name alone."""

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
"""Parts of paths that belong to a noun of another name."""

NOUN_OF = {
    "PreviewExperiments": "bulk",
    "ActOnExperiments": "bulk",
    "LabelExperiments": "bulk",
    "TerminateInstance": "machines",
    "SearchLogs": PLATFORM,
    "ChangePassword": "sessions",
}
"""Operations whose paths do not tell their noun."""

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
"""Methods that are called otherwise than the rule says."""

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
"""Operations that have no method of their own, and why; hand-written methods call most of them."""

_WORDS = re.compile(r"[A-Z][a-z0-9]*")
_READING = frozenset({"List", "Get", "Watch"})


def unknown(rows: Sequence[Operation[Any, Any]]) -> set[str]:
    """Return the operations that the exceptions speak of and that are no more."""
    return {*NOUN_OF, *METHODS, *WITHOUT_METHOD} - {row.name for row in rows}


def noun_of(row: Operation[Any, Any]) -> str:
    """Return the noun: that of the path's last part that names one, else of its first part."""
    if row.name in NOUN_OF:
        return NOUN_OF[row.name]
    parts = row.path.split("/")[2:]
    return next((noun for part in reversed(parts) if (noun := _named(part))), parts[0].replace("-", "_"))


def method_of(row: Operation[Any, Any]) -> str:
    """Return the operation's verb and what is left of its name without the noun; who only reads leaves the verb out: `pause`, `set_alias`, `journal`."""
    if row.name in METHODS:
        return METHODS[row.name]
    verb, *rest = _WORDS.findall(row.name)
    known = {noun_of(row), *_forms(noun_of(row)), *_parents(row)}
    rest = [word.lower() for word in rest if word.lower() not in known]
    if rest and verb in _READING:
        return "_".join(rest)
    return "_".join([verb.lower(), *rest])


def class_of(noun: str) -> str:
    """Return the name of a noun's class: `machine_pools` is `MachinePools`."""
    return "".join(part.capitalize() for part in noun.split("_"))


def told_of(noun: str) -> str:
    """Return what a noun is, as its class says it."""
    return NOUNS.get(noun, f"The {noun.replace('_', ' ')} of the caller's tenant.")


def in_order(nouns: Sequence[str]) -> list[str]:
    """Return the nouns as they are told: those that are named here, then others by name."""
    known = list(NOUNS)
    return sorted(set(nouns), key=lambda noun: (known.index(noun) if noun in known else len(known), noun))


def _named(part: str) -> str | None:
    owner = next((noun for noun, parts in SEGMENTS.items() if part in parts.split()), None)
    return owner or (part if part in NOUNS else None)


def _parents(row: Operation[Any, Any]) -> set[str]:
    """The places of the path before the noun: the `trial` of a trial's media."""
    before, found, _ = row.path.partition(f"/{noun_of(row)}")
    return set(re.findall(r"\{(\w+)\}", before)) if found else set()


def _forms(noun: str) -> set[str]:
    singular = f"{noun[:-3]}y" if noun.endswith("ies") else noun.removesuffix("s")
    return {singular, *noun.split("_"), *singular.split("_")}
