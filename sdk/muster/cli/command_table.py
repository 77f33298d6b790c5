"""The nouns of the command line, with their verbs and the commands that make a single client call.

A new resource gets a row here. More complex commands live in the folder of the noun and register themselves on its `app`.
"""

from typing import Annotated

import typer

from muster.cli.access.render import (
    grant_message,
    kind_of,
    membership_message,
    permissions_message,
    print_secret,
    revoke_message,
    role_facts,
    scope_of,
    state_message,
    state_of,
)
from muster.cli.base.declarative import REQUIRED, ActionCommand, ListCommand, Noun, Parameters, ShowCommand
from muster.cli.base.options import (
    CheckpointId,
    ExperimentStates,
    Filter,
    ModelName,
    Number,
    OfSite,
    OfWorkspace,
    PoolName,
    RoleName,
    SecretName,
    Sort,
    TemplateName,
    TrialName,
    UserName,
    ViewName,
    WebhookName,
    argument_of,
)
from muster.cli.base.output import size, slots
from muster.cli.base.plugins import Extended
from muster.cli.checkpoints.render import show_checkpoint, show_collected, show_storage
from muster.cli.cluster.render import cancellation_message, offers_table, utc_minute
from muster.cli.experiments.render import experiment_state, pausing_message, trial_count
from muster.cli.models.render import aliases_of
from muster.cli.operations.render import operation_facts
from muster.cli.policies.render import (
    days,
    part_spent,
    policy_cleared,
    print_config,
    rule_message,
    rule_scope,
    storage_quota,
    whose,
)
from muster.cli.trials.explanation import show as show_explanation
from muster.cli.trials.render import show_phases
from muster.cli.webhooks.render import delivery_result, state_of as webhook_state, webhook_facts

DAY_S = 86_400
ORDERED: Parameters = {"filter": Filter, "sort": Sort}

# fmt: off
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="Name of the group.")]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="Id of the token, from `muster user tokens`.")]
IdentityId = Annotated[str, typer.Argument(metavar="ID", help="Id of the identity, from `muster user identities`.")]
BindingId = Annotated[str, typer.Argument(metavar="BINDING", help="Id of the binding, from `muster role bindings`.")]
ReservationId = Annotated[str, typer.Argument(metavar="RESERVATION", help="Id of the reservation, from `muster reservation list`.")]
OperationId = Annotated[str, typer.Argument(metavar="OPERATION", help="Id of the operation, from `muster operation list`.")]
WorkerName = Annotated[str, typer.Argument(metavar="WORKER", help="Id of the worker, from `muster worker list`.")]
Slot = Annotated[int, typer.Argument(metavar="SLOT", min=0, help="Number of the slot on its worker: the index of the GPU.")]
Alias = Annotated[str, typer.Argument(metavar="ALIAS", help="Name of the alias.")]
Description = Annotated[str, typer.Option("--description", help="Purpose, for other users.")]
Provider = Annotated[str, typer.Option("--provider", help="Name of the provider in the site's sign-in file.")]
Subject = Annotated[str, typer.Option("--subject", help="The user at the provider: the claim `sub`.")]
Permissions = Annotated[list[str], typer.Option("--permission", help="A permission, such as experiment.read; `muster whoami` lists yours. Repeatable.")]
ToUser = Annotated[str | None, typer.Option("--user", help="The user that has the role.")]
ToGroup = Annotated[str | None, typer.Option("--group", help="The group that has the role.")]
ToWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Scope: this workspace; by default the tenant.")]
ToProject = Annotated[str | None, typer.Option("--project", help="Scope: this project of the workspace.")]
OfRole = Annotated[str | None, typer.Option("--role", help="Only this role.")]
OnWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Only this workspace.")]
InGroup = Annotated[str | None, typer.Option("--group", help="Only users of this group.")]
InWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Only this workspace.")]
OfUser = Annotated[str | None, typer.Option("--user", help="Sessions of this user instead of your own.")]
State = Annotated[str | None, typer.Option("--state", parser=argument_of("DeliveryState"), metavar="STATE", help="Only this state: waiting, delivered or dead.")]
Newest = Annotated[int, typer.Option("--limit", min=1, max=1000, help="Number of items, newest first.")]
NameText = Annotated[str | None, typer.Option("--name", help="Only names that contain this text.")]
ModelWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Only models of this workspace.")]
ModelTag = Annotated[str | None, typer.Option("--tag", help="Only models with this tag.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Delete nothing; show what would be deleted, and why the rest is kept.")]
ExperimentBest = Annotated[int | None, typer.Option("--experiment-best", min=0, help="Number of the experiment's best checkpoints to keep.")]
TrialBest = Annotated[int | None, typer.Option("--trial-best", min=0, help="Number of each trial's best checkpoints to keep.")]
TrialLatest = Annotated[int | None, typer.Option("--trial-latest", min=0, help="Number of each trial's newest checkpoints to keep.")]
Label = Annotated[list[str] | None, typer.Option("--label", help="Only experiments with this label. Repeatable.")]
Archived = Annotated[bool, typer.Option("--archived", help="List archived experiments instead.")]
Most = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of items.")]
TokenDays = Annotated[int, typer.Option("--days", min=1, max=366, callback=lambda days: days * DAY_S, help="Lifetime of the token in days.")]
AdminDays = Annotated[int, typer.Option("--days", min=1, max=7, callback=lambda days: days * DAY_S, help="Lifetime of the token in days.")]
Minutes = Annotated[int, typer.Option("--minutes", min=1, max=1440, callback=lambda minutes: minutes * 60, help="Lifetime of the token in minutes.")]
Overlap = Annotated[int, typer.Option("--overlap", min=0, max=168, callback=lambda hours: hours * 3600, help="Hours for which the old secret signs too.")]
Service = Annotated[bool, typer.Option("--service", callback=lambda service: "service_account" if service else "person", help="Create a service account for a program.")]
DisplayName = Annotated[str, typer.Option("--display-name", help="Name shown to other users.")]
TokenName = Annotated[str, typer.Option("--name", help="Purpose of the token.")]
Scope = Annotated[list[str] | None, typer.Option("--scope", help="Limit the token to this permission of the user. Repeatable; by default all.")]
TenantName = Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")]
JoinedPool = Annotated[str, typer.Option("--pool", "-p", help="The pool that the machine joins.")]
JoinedWorker = Annotated[str | None, typer.Option("--worker", callback=lambda worker: worker or None, help="Bind the token to one worker, by the name that the worker will have.")]
ForWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Scope: this workspace; by default the whole tenant.")]
DetailDays = Annotated[int | None, typer.Option("--detail-days", min=1, help="Days for which all points are kept; older series are thinned to a sixteenth that keeps their shape.")]
MetricDays = Annotated[int | None, typer.Option("--metric-days", min=1, help="Days for which points are kept; summaries stay.")]
LogDays = Annotated[int | None, typer.Option("--log-days", min=1, help="Days for which log lines are kept.")]

EXPLAIN = ShowCommand(name="explain", method="trials.explain", help="Explain why a trial waits, which runs hold the slots, and what would let it start.",
    parameters={"trial": TrialName}, render=show_explanation)
"""A verb of `trial` and of `queue`."""

QUEUE = ListCommand(method="cluster.queue", help="List running and waiting trials, with the reason for waiting.", parameters={"pool": PoolName, **ORDERED},
    columns={">position": "position", "trial": lambda one: f"{one.experiment_number}.{one.trial_number}", "pool": "pool", ">priority": "priority",
        ">slots": lambda one: slots(one.slots, one.min_slots, one.max_slots, one.slot_fraction), "state": "state", "reason": "reason", "since": "since"},
    empty="the queue is empty: no trial runs or waits", no_match="no running or waiting trial matches")

NOUNS = {
    "experiment": Noun("Create, watch and control experiments.",
        "create list describe front code logs metrics wait pause resume cancel kill finish archive unarchive edit act label search fork best export replay delete",
        ListCommand(method="experiments.list", help="List experiments, newest first by default.",
            parameters={"states": ExperimentStates, "labels": Label, "name_contains": NameText, "archived": Archived, **ORDERED, "limit": (Most, 50)},
            columns={">#": "number", "name": "name", "state": experiment_state, ">progress": lambda one: f"{one.progress:.0%}", "search": "searcher", ">trials": trial_count,
                ">best": "best.value", "owner": "owner", "created": "created_at"},
            empty="no experiments: create one with `muster experiment create CONFIG`", no_match="no experiment matches the filter"),
        ActionCommand(name="pause", method="experiments.pause", help="Pause an experiment: its trials save checkpoints and release their slots.", parameters={"experiment": Number},
            message=pausing_message),
        ActionCommand(name="resume", method="experiments.resume", help="Resume a paused experiment.", parameters={"experiment": Number},
            message="resuming experiment {number}; state: [bold]{state}[/]"),
        ActionCommand(name="cancel", method="experiments.cancel", help="Cancel an experiment; its trials may save a last checkpoint.", parameters={"experiment": Number},
            message="cancelling experiment {number}; state: [bold]{state}[/]"),
        ActionCommand(name="kill", method="experiments.kill", help="Kill an experiment immediately, without last checkpoints.", parameters={"experiment": Number},
            message="experiment {number} is being killed; state: [bold]{state}[/]"),
        ActionCommand(name="finish", method="experiments.finish", help="Complete a search early with its best result so far; its trials may save a last checkpoint.", parameters={"experiment": Number},
            message="experiment {number} will complete with its best result so far; state: [bold]{state}[/]"),
        ActionCommand(name="archive", method="experiments.archive", help="Archive an ended experiment: hide it from lists.", parameters={"experiment": Number},
            message="experiment {number} is archived"),
        ActionCommand(name="unarchive", method="experiments.unarchive", help="Show an archived experiment in lists again.", parameters={"experiment": Number},
            message="experiment {number} is shown in lists again")),
    "trial": Noun("Inspect trials with their metrics, logs and checkpoints, or kill one.",
        "list columns compare describe kill logs metrics checkpoints phases explain export",
        ActionCommand(name="kill", method="trials.kill", help="Kill one trial immediately, without a last checkpoint; its experiment continues.", parameters={"trial": TrialName},
            message="trial {experiment_number}.{number} is being killed; state: [bold]{state}[/]"),
        ListCommand(name="checkpoints", method="checkpoints.of_trial", help="List a trial's checkpoints, oldest first by default.", parameters={"trial": TrialName, **ORDERED},
            columns={">step": "step", "state": "state", ">run": "run", ">files": "files", ">size": lambda one: size(one.size_bytes),
                "metrics": lambda one: ", ".join(f"{name} {value:.4g}" for name, value in one.metrics.items()), "created": "created_at", "id": "id"},
            empty="no checkpoints yet", no_match="no checkpoint matches the filter"),
        ShowCommand(name="phases", method="trials.phases", help="Show the timeline of a trial: waiting, fetching, starting, training and saving checkpoints, by run.",
            parameters={"trial": TrialName}, render=show_phases),
        EXPLAIN),
    "checkpoint": Noun("List, download, verify, label and delete checkpoints.",
        "list describe download edit verify delete collect storage",
        ShowCommand(name="describe", method="checkpoints.get", help="Show a checkpoint with its description, labels, and files.", parameters={"checkpoint": CheckpointId}, render=show_checkpoint),
        ShowCommand(name="collect", method="checkpoints.collect",
            help="Delete the checkpoints that an experiment's retention counts do not keep, also while it runs; given counts become its new rule.",
            parameters={"experiment": Number, "dry_run": DryRun, "save_experiment_best": ExperimentBest, "save_trial_best": TrialBest, "save_trial_latest": TrialLatest},
            render=show_collected),
        ShowCommand(name="storage", method="checkpoints.storage", help="Show stored bytes and quotas of your tenant and its workspaces.", render=show_storage)),
    "model": Noun("Register models, manage aliases and stages of versions, and show their lineage.",
        "create list describe edit register download alias unalias stage approve reject compare lineage use delete",
        ListCommand(method="models.list", help="List models, by name by default.",
            parameters={"name_contains": NameText, "workspace": ModelWorkspace, "tag": ModelTag, **ORDERED},
            columns={"name": "name", "workspace": "workspace", ">versions": "versions", "aliases": aliases_of, "tags": lambda one: ", ".join(one.tags),
                "description": "description", "owner": "owner", "created": "created_at"},
            empty="no models: create one with `muster model create NAME`", no_match="no model matches the filter"),
        ActionCommand(name="unalias", method="models.delete_alias", help="Remove an alias; the version stays.", parameters={"model": ModelName, "alias": Alias},
            message="alias {name}@{alias} removed")),
    "worker": Noun("List workers, drain them, and create tokens for new machines.",
        "list token drain undrain disable-slot enable-slot",
        ShowCommand(name="token", method="cluster.join_token", help="Print a one-time join token; run `muster worker join --url … --token …` on the new machine.",
            parameters={"pool": (JoinedPool, "default"), "worker": JoinedWorker, "ttl_s": (Minutes, 60)}, render=lambda found: print(found.token)),
        ActionCommand(name="disable-slot", method="cluster.disable_slot", help="Disable one slot of a worker for new work, such as a faulty GPU.", parameters={"worker": WorkerName, "slot": Slot},
            message="slot {slot} of worker [bold]{id}[/] is disabled for new work; running trials continue. Undo with `muster worker enable-slot {id} {slot}`"),
        ActionCommand(name="enable-slot", method="cluster.enable_slot", help="Enable a disabled slot for new work.", parameters={"worker": WorkerName, "slot": Slot},
            message="slot {slot} of worker [bold]{id}[/] is enabled"),
        group=Extended),
    "pool": Noun("List resource pools, change how they are shared, and define pools of rented machines.",
        "list describe set create update delete kinds",
        ListCommand(method="cluster.pools", help="List the pools with their used and waiting slots.", parameters=ORDERED,
            columns={"pool": "name", "kind": "slot_kind", ">workers": "workers", ">slots": "slots", ">used": "used_slots", ">waiting": "waiting_slots",
                "order": "rules.order", "preemption": "preemption", "exclusive": "exclusive"},
            empty="no pools: a pool appears when a worker joins it", no_match="no pool matches the filter"),
        ShowCommand(name="kinds", method="machines.kinds", help="List the machine types that can be rented, with zones and prices.", render=offers_table)),
    "instance": Noun("List rented machines, drain or terminate them.", "list drain terminate"),
    "limit": Noun("Limit how many slots tenants and workspaces may hold in a pool.",
        "list set storage",
        ListCommand(method="cluster.limits", help="List the slot limits of tenants and workspaces.", parameters={"pool": PoolName, **ORDERED},
            columns={"pool": "pool", "tenant": "tenant", "workspace": "workspace", ">guaranteed": "guaranteed", ">maximum": "maximum", ">weight": "weight"},
            empty="no limits: tenants may use all free slots. Set one with `muster limit set`")),
    "template": Noun("Store reusable parts of configs as named templates.",
        "create list show edit delete",
        ListCommand(method="templates.list", help="List the templates that you can see.", parameters=ORDERED,
            columns={"name": "name", "scope": lambda one: whose(one.workspace), "keys": lambda one: ", ".join(one.config), "changed": "changed_at", "by": "by", "description": "description"},
            empty="no templates: create one with `muster template create NAME FILE`"),
        ShowCommand(method="templates.get", help="Print the config of a template as YAML.", parameters={"template": TemplateName}, render=print_config),
        ActionCommand(name="delete", method="templates.delete", help="Delete a template; experiments created from it do not change.", parameters={"template": TemplateName},
            message="template {template} deleted")),
    "policy": Noun("Set policies that limit or override experiment configs, for a workspace or the whole tenant.",
        "list set clear",
        ListCommand(method="policies.list", help="List the config policies of the tenant and its workspaces.",
            columns={"scope": lambda one: whose(one.workspace), ">max_slots": "max_slots", ">priority_limit": "priority_limit",
                "overrides": lambda one: ", ".join(one.invariant_config), "by": "by"},
            empty="no policies: configs are accepted unchanged. Set one with `muster policy set`"),
        ActionCommand(name="clear", method="policies.set", help="Remove the config policy of a workspace or of the whole tenant.", parameters={"workspace": ForWorkspace},
            message=policy_cleared)),
    "quota": Noun("Limit open experiments, request rates and stored bytes of a tenant and its workspaces.",
        "list set",
        ListCommand(method="quotas.list", help="List the quotas of your tenant and its workspaces; site administrators see all tenants.",
            columns={"tenant": "tenant", "scope": lambda one: whose(one.workspace), ">experiments": "max_experiments", ">requests/s": "requests_per_s",
                ">stored": storage_quota, "by": "by"},
            empty="no quotas: the site's defaults apply. Set one with `muster quota set`")),
    "budget": Noun("Limit the monthly spending of a tenant and its workspaces.",
        "list set clear",
        ListCommand(method="budgets.list", help="List budgets with this month's spending; site administrators see all tenants.",
            columns={"tenant": "tenant", "scope": lambda one: whose(one.workspace), ">spent": lambda one: f"{one.spent:,.2f}",
                ">budget": lambda one: f"{one.per_month or 0.0:,.2f}", ">used": part_spent, "when spent": lambda one: str(one.when_spent)},
            empty="no budgets: spending is not limited. Set one with `muster budget set`")),
    "reservation": Noun("Reserve slots of a pool for a time window.",
        "create list delete",
        ListCommand(method="cluster.reservations", help="List current and future reservations.", parameters=ORDERED,
            columns={"id": "id", "pool": "pool", "tenant": "tenant", "workspace": "workspace", ">slots": "slots", ">held": "held_slots",
                "from (UTC)": lambda one: utc_minute(one.begins_at), "until (UTC)": lambda one: utc_minute(one.ends_at)},
            empty="no reservations: create one with `muster reservation create`"),
        ActionCommand(name="delete", method="cluster.delete_reservation", help="Delete a reservation; trials that run in it continue.", parameters={"reservation": ReservationId}, message=cancellation_message)),
    "retention": Noun("Set how long metrics and logs are kept.",
        "list set",
        ListCommand(method="cluster.retention", help="List the retention rules of your tenant and its workspaces; an experiment's `retention_policy` may shorten them.",
            columns={"scope": rule_scope, ">full detail": lambda one: days(one.metric_detail_days), ">metrics": lambda one: days(one.metric_retention_days),
                ">logs": lambda one: days(one.log_retention_days)},
            empty="no rules: the site's defaults apply. Set one with `muster retention set`"),
        ActionCommand(name="set", method="cluster.set_retention",
            help="Replace the retention rule for metrics and logs; without any days, remove the rule.",
            parameters={"workspace": ForWorkspace, "metric_detail_days": DetailDays, "metric_retention_days": MetricDays, "log_retention_days": LogDays},
            message=rule_message, prints_warnings=True)),
    "operation": Noun("Inspect long-running operations.",
        "list show",
        ListCommand(method="operations.list", help="List your long-running operations of the last day, newest first.", parameters=ORDERED,
            columns={"id": "id", "operation": "operation", "state": "state", "created": "created_at", "error": "message"}, empty="no long-running operations in the last day"),
        ShowCommand(method="operations.get", help="Show the state of an operation.", parameters={"operation": OperationId}, render=operation_facts)),
    "user": Noun("Manage users and service accounts of your tenant, and their tokens.",
        "create list show disable enable token tokens revoke password link identities unlink",
        ActionCommand(name="create", method="users.create", help="Create a user; a new user has no permissions until you grant a role.",
            parameters={"name": UserName, "kind": (Service, False), "display_name": (DisplayName, "")},
            message="user {name} created; grant a role with `muster role grant`"),
        ActionCommand(name="disable", method="users.edit", help="Disable a user: all tokens and sessions stop working.", parameters={"user": UserName}, fixed={"disabled": True},
            message=state_message),
        ActionCommand(name="enable", method="users.edit", help="Enable a disabled user; the user's tokens work again.", parameters={"user": UserName}, fixed={"disabled": False},
            message=state_message),
        ShowCommand(name="token", method="users.create_token", help="Create a token for a user and print its secret; the secret is shown only once.",
            parameters={"user": UserName, "name": (TokenName, REQUIRED), "scope": Scope, "ttl_s": (TokenDays, 30)}, render=print_secret),
        ListCommand(method="users.list", help="List the users of your tenant.", parameters={"group": InGroup, **ORDERED},
            columns={"name": "name", "kind": kind_of, "display name": "display_name", "groups": lambda one: ", ".join(one.groups), "state": state_of},
            empty="no users match"),
        ListCommand(name="tokens", method="users.tokens", help="List the tokens of your tenant, without their secrets.", parameters=ORDERED,
            columns={"id": "id", "name": "name", "user": "user", "scope": lambda one: ", ".join(one.scope), "created": "created_at", "expires": "expires_at",
                "revoked": "revoked_at"},
            empty="no tokens match"),
        ActionCommand(name="revoke", method="users.revoke_token", help="Revoke a token; it stops working within seconds.", parameters={"token": TokenId},
            message="token {name} revoked"),
        ActionCommand(name="link", method="users.link", help="Link a user to an identity at a provider, for sign-in or API calls.",
            parameters={"user": UserName, "provider": (Provider, REQUIRED), "subject": (Subject, REQUIRED)}, message="linked {user} to {subject} of {issuer}"),
        ListCommand(name="identities", method="users.identities", help="List the identities of a user at providers.", parameters={"user": UserName},
            columns={"id": "id", "provider": "issuer", "subject": "subject"}, empty="no linked identities: link one with `muster user link`"),
        ActionCommand(name="unlink", method="users.unlink", help="Remove the link between a user and an identity at a provider.", parameters={"user": UserName, "identity": IdentityId},
            message="unlinked {user} from {subject} of {issuer}")),
    "group": Noun("Manage groups: users that share roles.",
        "create list add remove delete",
        ActionCommand(name="create", method="groups.create", help="Create an empty group.", parameters={"name": GroupName, "description": (Description, "")}, message="group {name} created; add members with `muster group add`"),
        ListCommand(method="groups.list", help="List the groups of your tenant.", parameters=ORDERED,
            columns={"name": "name", ">members": "members", "description": "description"}, empty="no groups: create one with `muster group create NAME`"),
        ActionCommand(name="add", method="groups.add", help="Add a user to a group; the user gets the group's roles.", parameters={"group": GroupName, "user": UserName}, message=membership_message),
        ActionCommand(name="remove", method="groups.remove", help="Remove a user from a group.", parameters={"group": GroupName, "user": UserName}, message=membership_message),
        ActionCommand(name="delete", method="groups.delete", help="Delete a group with its role bindings; its members stay.", parameters={"group": GroupName},
            message="group {group} deleted")),
    "role": Noun("Define roles, and grant them on the tenant, a workspace or a project.",
        "list show create edit delete grant bindings revoke",
        ListCommand(method="roles.list", help="List the roles that can be granted.",
            columns={"role": "name", "scope": lambda one: "tenant" if one.tenant_only else "any", "description": "description"}, empty="no roles"),
        ShowCommand(method="roles.get", help="Show a role and its permissions.", parameters={"role": RoleName}, render=role_facts),
        ActionCommand(name="create", method="roles.create", help="Create a role from permissions that you have on the tenant.",
            parameters={"name": RoleName, "permissions": (Permissions, REQUIRED), "description": (Description, "")}, message=permissions_message),
        ActionCommand(name="edit", method="roles.edit", help="Replace the permissions of a role of your tenant, for all its members.",
            parameters={"role": RoleName, "permissions": (Permissions, REQUIRED)}, message=permissions_message),
        ActionCommand(name="delete", method="roles.delete", help="Delete an unused role of your tenant.", parameters={"role": RoleName}, message="role {role} deleted"),
        ActionCommand(name="grant", method="roles.grant", help="Grant a role to a user or a group; it takes effect within seconds.",
            parameters={"role": RoleName, "user": ToUser, "group": ToGroup, "workspace": ToWorkspace, "project": ToProject}, message=grant_message),
        ListCommand(name="bindings", method="roles.bindings", help="List role bindings: which user or group has which role where.",
            parameters={"role": OfRole, "user": ToUser, "group": ToGroup, "workspace": OnWorkspace, **ORDERED},
            columns={"id": "id", "role": "role", "user": "user", "group": "group", "scope": lambda one: scope_of(one.workspace, one.project), "granted by": "by"},
            empty="no role bindings match"),
        ActionCommand(name="revoke", method="roles.revoke", help="Revoke a role binding.", parameters={"binding": BindingId}, message=revoke_message)),
    "workspace": Noun("Delete a workspace and everything in it.", "delete"),
    "tenant": Noun("Manage the tenants of a site; needs site administrator rights.",
        "create recover list delete",
        ShowCommand(name="create", method="tenants.create", help="Create a tenant and print the token of its first admin; the token is shown only once.",
            parameters={"name": TenantName, "ttl_s": (TokenDays, 7)}, render=print_secret),
        ShowCommand(name="recover", method="tenants.recover",
                help="Restore access to a tenant whose admins have lost it: print a new token of its first admin, shown only once.\n\n"
                    "The tenant's own token list shows the recovery and who did it.",
            parameters={"tenant": TenantName, "ttl_s": (AdminDays, 1)}, render=print_secret),
        ListCommand(method="tenants.list", help="List the tenants of the site.", parameters=ORDERED,
            columns={"name": "name", "created": lambda one: f"{one.created_at:%Y-%m-%d}", "id": "id"}, empty="no tenants: create one with `muster tenant create NAME`")),
    "secret": Noun("Manage the secrets of a workspace, which its runs get as environment variables or files.",
        "set list delete",
        ListCommand(method="secrets.list", help="List the secrets of a workspace; values cannot be read.", parameters={"workspace": (OfWorkspace, REQUIRED)},
            columns={"name": "name", "set": lambda one: utc_minute(one.changed_at), "by": "by"}, empty="no secrets: create one with `muster secret set NAME`"),
        ActionCommand(name="delete", method="secrets.delete", help="Delete a secret. Runs that reference it and start afterwards fail.",
            parameters={"secret": SecretName, "workspace": (OfWorkspace, REQUIRED)}, message="secret {secret} of workspace {workspace} deleted")),
    "view": Noun("Save dashboard pages with their filters as named views.",
        "list save delete",
        ActionCommand(name="delete", method="views.delete", help="Delete a view.", parameters={"name": ViewName}, message="view {name} deleted")),
    "webhook": Noun("Send signed events to a program, Slack or Alertmanager.",
        "create list show edit delete rotate test deliveries replay",
        ListCommand(method="webhooks.list", help="List the webhooks that you manage.", parameters={"workspace": InWorkspace, **ORDERED},
            columns={"name": "name", "destination": "origin", "scope": lambda one: scope_of(one.workspace, one.project), "events": lambda one: ", ".join(one.events) or "all",
                "state": webhook_state, ">waiting": "waiting", ">dead": "dead", "id": "id"},
            empty="no webhooks: create one with `muster webhook create`"),
        ShowCommand(method="webhooks.get", help="Show a webhook.", parameters={"webhook": WebhookName}, render=webhook_facts),
        ActionCommand(name="delete", method="webhooks.delete", help="Delete a webhook and its pending deliveries.", parameters={"webhook": WebhookName},
            message="webhook {webhook} deleted"),
        ShowCommand(name="rotate", method="webhooks.rotate_secret", help="Create a new secret and print it; it is shown only once.",
            parameters={"webhook": WebhookName, "overlap_s": (Overlap, 24)}, render=print_secret),
        ListCommand(name="deliveries", method="webhooks.deliveries", help="List the deliveries of a webhook, sent and pending.",
            parameters={"webhook": WebhookName, "state": State, "limit": (Newest, 50), **ORDERED},
            columns={"time": lambda one: f"{one.created_at:%m-%d %H:%M:%S}", "event": "type", "state": lambda one: str(one.state), ">attempts": "attempts",
                "result": delivery_result, "id": "id"},
            empty="no deliveries match")),
    "import": Noun("Import experiments and models from another platform.", "determined"),
    "audit": Noun("Read, export and verify the audit log: who did what, and what was refused.",
        "list export head verify",
        ShowCommand(name="head", method="audit.head", help="Print the head of the log; store it outside the platform for a later `verify --anchor`.",
            parameters={"site": OfSite}, render=lambda found: print(f"{found.sequence}:{found.hash}"))),
    "session": Noun("Manage your sign-in sessions and your password.",
        "list revoke link password",
        ListCommand(method="sessions.list", help="List your sign-in sessions.", parameters={"user": OfUser, **ORDERED},
            columns={"id": "id", "sign-in": "via", "address": "address", "created": "created_at", "last used": "used_at", "current": lambda one: "yes" if one.current else ""},
            empty="no sessions")),
}
# fmt: on
"""The nouns by name, each with its verbs in the order of the help."""
