"""The nouns of the command line, with their verbs and the commands that make a single client call.

A new resource gets a row here. Commands that do more are in the noun's own folder, which adds them to the noun's `app`.
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
    PoolName,
    RoleName,
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
from muster.cli.experiments.render import trial_count
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
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="Its name.")]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="`muster user tokens` shows it.")]
IdentityId = Annotated[str, typer.Argument(metavar="ID", help="`muster user identities` shows it.")]
BindingId = Annotated[str, typer.Argument(metavar="BINDING", help="Its id: `muster role bindings` shows it.")]
ReservationId = Annotated[str, typer.Argument(metavar="RESERVATION", help="Its id, as `muster reservation list` shows it.")]
OperationId = Annotated[str, typer.Argument(metavar="OPERATION", help="Its id, as `muster operation list` shows it.")]
WorkerName = Annotated[str, typer.Argument(metavar="WORKER", help="Its id, as `muster worker list` shows it.")]
Slot = Annotated[int, typer.Argument(metavar="SLOT", min=0, help="Its number there: of a GPU its index.")]
Alias = Annotated[str, typer.Argument(metavar="ALIAS")]
Description = Annotated[str, typer.Option("--description", help="What it is for.")]
Provider = Annotated[str, typer.Option("--provider", help="The provider's name in the site's sign-in file.")]
Subject = Annotated[str, typer.Option("--subject", help="Who it is there: the claim `sub`.")]
Permissions = Annotated[list[str], typer.Option("--permission", help="Such as experiment.read; `muster whoami` lists yours. Repeatable.")]
ToUser = Annotated[str | None, typer.Option("--user", help="To this user.")]
ToGroup = Annotated[str | None, typer.Option("--group", help="To this group.")]
ToWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="On this workspace; by default on the tenant.")]
ToProject = Annotated[str | None, typer.Option("--project", help="On this project of it.")]
OfRole = Annotated[str | None, typer.Option("--role", help="Of this role.")]
OnWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="On this workspace.")]
InGroup = Annotated[str | None, typer.Option("--group", help="Those of this group alone.")]
InWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Those of this workspace alone.")]
OfUser = Annotated[str | None, typer.Option("--user", help="Those of this user, and not your own.")]
State = Annotated[str | None, typer.Option("--state", parser=argument_of("DeliveryState"), metavar="STATE", help="waiting, delivered or dead.")]
Newest = Annotated[int, typer.Option("--limit", min=1, max=1000, help="So many of the newest.")]
NameText = Annotated[str | None, typer.Option("--name", help="Only names that hold this text.")]
ModelWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Only of this one.")]
ModelTag = Annotated[str | None, typer.Option("--tag", help="Only those that have it.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would go, and why the rest stays.")]
ExperimentBest = Annotated[int | None, typer.Option("--experiment-best", min=0, help="Keep so many of the experiment's best.")]
TrialBest = Annotated[int | None, typer.Option("--trial-best", min=0, help="Keep so many of each trial's best.")]
TrialLatest = Annotated[int | None, typer.Option("--trial-latest", min=0, help="Keep so many of each trial's newest.")]
Label = Annotated[list[str] | None, typer.Option("--label", help="Only with it. Repeatable.")]
Archived = Annotated[bool, typer.Option("--archived", help="The archived ones instead.")]
Most = Annotated[int, typer.Option("--limit", min=1, help="At most this many.")]
TokenDays = Annotated[int, typer.Option("--days", min=1, max=366, callback=lambda days: days * DAY_S, help="So long the token counts.")]
AdminDays = Annotated[int, typer.Option("--days", min=1, max=7, callback=lambda days: days * DAY_S, help="So long the token counts.")]
Minutes = Annotated[int, typer.Option("--minutes", min=1, max=1440, callback=lambda minutes: minutes * 60, help="So long it is good.")]
Overlap = Annotated[int, typer.Option("--overlap", min=0, max=168, callback=lambda hours: hours * 3600, help="So many hours the old secret signs too.")]
Service = Annotated[bool, typer.Option("--service", callback=lambda service: "service_account" if service else "person", help="A program, and no person.")]
DisplayName = Annotated[str, typer.Option("--display-name", help="What people call it.")]
TokenName = Annotated[str, typer.Option("--name", help="What the token is for.")]
Scope = Annotated[list[str] | None, typer.Option("--scope", help="Only this permission of the user's. Repeatable; by default all.")]
TenantName = Annotated[str, typer.Argument(metavar="TENANT", help="Its name.")]
JoinedPool = Annotated[str, typer.Option("--pool", "-p", help="The pool that the machine joins.")]
JoinedWorker = Annotated[str | None, typer.Option("--worker", callback=lambda worker: worker or None, help="For this machine alone, by the name that it will have.")]
ForWorkspace = Annotated[str | None, typer.Option("--workspace", "-w", help="Of this one; by default of the whole tenant.")]
DetailDays = Annotated[int | None, typer.Option("--detail-days", min=1, help="So long all points; then a sixteenth that keeps the shape.")]
MetricDays = Annotated[int | None, typer.Option("--metric-days", min=1, help="So long any points; summaries stay.")]
LogDays = Annotated[int | None, typer.Option("--log-days", min=1, help="So long the lines of logs.")]

EXPLAIN = ShowCommand(name="explain", method="trials.explain", help="Tell why a trial waits, who holds what it waits for, and what would let it start; or that it runs.",
    parameters={"trial": TrialName}, render=show_explanation)
"""A verb of `trial` and of `queue`."""

QUEUE = ListCommand(method="cluster.queue", help="Show what runs and what waits, and why.", parameters={"pool": PoolName, **ORDERED},
    columns={">place": "position", "trial": lambda one: f"{one.experiment_number}.{one.trial_number}", "pool": "pool", ">priority": "priority",
        ">slots": lambda one: slots(one.slots, one.min_slots, one.max_slots, one.slot_part), "state": "state", "why": "reason", "since": "since"},
    empty="nothing runs and nothing waits", no_match="nothing of that kind runs or waits")

NOUNS = {
    "experiment": Noun("Create, watch and steer experiments.",
        "create list describe front code logs metrics wait pause resume cancel kill finish archive unarchive edit act label search fork best export replay delete",
        ListCommand(method="experiments.list", help="List experiments, newest first or as they are sorted.",
            parameters={"states": ExperimentStates, "labels": Label, "name_contains": NameText, "archived": Archived, **ORDERED, "limit": (Most, 50)},
            columns={">#": "number", "name": "name", "state": "state", ">progress": lambda one: f"{one.progress:.0%}", "search": "searcher", ">trials": trial_count,
                ">best": "best.value", "owner": "owner", "created": "created_at"},
            empty="no experiments: make one with `muster experiment create CONFIG`", no_match="no such experiment"),
        ActionCommand(name="pause", method="experiments.pause", help="Let the trials save and give their slots back.", parameters={"experiment": Number},
            message="experiment {number} was asked to pause; it is now [bold]{state}[/]"),
        ActionCommand(name="resume", method="experiments.resume", help="Let a paused experiment go on.", parameters={"experiment": Number},
            message="experiment {number} was asked to go on; it is now [bold]{state}[/]"),
        ActionCommand(name="cancel", method="experiments.cancel", help="End an experiment; its trials may save a last checkpoint.", parameters={"experiment": Number},
            message="experiment {number} was asked to end; it is now [bold]{state}[/]"),
        ActionCommand(name="kill", method="experiments.kill", help="End an experiment at once.", parameters={"experiment": Number},
            message="experiment {number} was told to end at once; it is now [bold]{state}[/]"),
        ActionCommand(name="finish", method="experiments.finish", help="End a search early, as completed; its trials may save a last checkpoint.", parameters={"experiment": Number},
            message="experiment {number} was asked to end with the best so far; it is now [bold]{state}[/]"),
        ActionCommand(name="archive", method="experiments.archive", help="Hide an ended experiment from lists.", parameters={"experiment": Number},
            message="experiment {number} is out of the lists"),
        ActionCommand(name="unarchive", method="experiments.unarchive", help="Show an archived experiment in lists again.", parameters={"experiment": Number},
            message="experiment {number} is back in the lists")),
    "trial": Noun("Look at trials, their metrics, logs and checkpoints, and kill one.",
        "list columns compare describe kill logs metrics checkpoints phases explain export",
        ActionCommand(name="kill", method="trials.kill", help="End one trial at once, without a last checkpoint; its experiment goes on without it.", parameters={"trial": TrialName},
            message="trial {experiment_number}.{number} was told to end at once; it is now [bold]{state}[/]"),
        ListCommand(name="checkpoints", method="checkpoints.of_trial", help="List a trial's checkpoints, oldest first or as they are sorted.", parameters={"trial": TrialName, **ORDERED},
            columns={">step": "step", "state": "state", ">run": "run", ">files": "files", ">size": lambda one: size(one.size_bytes),
                "metrics": lambda one: ", ".join(f"{name} {value:.4g}" for name, value in one.metrics.items()), "created": "created_at", "id": "id"},
            empty="no checkpoints yet", no_match="no such checkpoint"),
        ShowCommand(name="phases", method="trials.phases", help="Show what a trial did when: waiting, fetching, starting, training and saving checkpoints, by run.",
            parameters={"trial": TrialName}, render=show_phases),
        EXPLAIN),
    "checkpoint": Noun("List, fetch, verify, label and delete checkpoints.",
        "list describe download edit verify delete collect storage",
        ShowCommand(name="describe", method="checkpoints.get", help="Show a checkpoint, what is said about it, and its files.", parameters={"checkpoint": CheckpointId}, render=show_checkpoint),
        ShowCommand(name="collect", method="checkpoints.collect",
            help="Delete what an experiment's rule does not keep, also while it runs; counts that are given are its rule from now on.",
            parameters={"experiment": Number, "dry_run": DryRun, "save_experiment_best": ExperimentBest, "save_trial_best": TrialBest, "save_trial_latest": TrialLatest},
            render=show_collected),
        ShowCommand(name="storage", method="checkpoints.storage", help="Show how many bytes your tenant and its workspaces store, and how many they may.", render=show_storage)),
    "model": Noun("Register models, name and stage their versions, and see where they come from.",
        "create list describe edit register download alias unalias stage approve reject compare lineage use delete",
        ListCommand(method="models.list", help="List models by name, or as they are sorted.",
            parameters={"name_contains": NameText, "workspace": ModelWorkspace, "tag": ModelTag, **ORDERED},
            columns={"name": "name", "workspace": "workspace", ">versions": "versions", "aliases": aliases_of, "tags": lambda one: ", ".join(one.tags),
                "description": "description", "owner": "owner", "created": "created_at"},
            empty="no models: make one with `muster model create NAME`", no_match="no such model"),
        ActionCommand(name="unalias", method="models.delete_alias", help="Take an alias away; the version stays.", parameters={"model": ModelName, "alias": Alias},
            message="{name}@{alias} names nothing any more")),
    "worker": Noun("Look at the workers, drain them, and let machines join.",
        "list token drain undrain disable-slot enable-slot",
        ShowCommand(name="token", method="cluster.join_token", help="Print a one-time token with which a machine joins: `muster worker join --url … --token …` there.",
            parameters={"pool": (JoinedPool, "default"), "worker": JoinedWorker, "ttl_s": (Minutes, 60)}, render=lambda found: print(found.token)),
        ActionCommand(name="disable-slot", method="cluster.disable_slot", help="Give one slot of a worker no more work, for a fault of one GPU.", parameters={"worker": WorkerName, "slot": Slot},
            message="slot {slot} of worker [bold]{id}[/] takes no more work; what runs there ends by itself. `muster worker enable-slot {id} {slot}` takes it back"),
        ActionCommand(name="enable-slot", method="cluster.enable_slot", help="Give a slot work again.", parameters={"worker": WorkerName, "slot": Slot},
            message="slot {slot} of worker [bold]{id}[/] takes work again"),
        group=Extended),
    "pool": Noun("Look at the resource pools, and change how they are shared.",
        "list describe set create update delete kinds",
        ListCommand(method="cluster.pools", help="List the pools and what is free in them.", parameters=ORDERED,
            columns={"pool": "name", "kind": "slot_kind", ">workers": "workers", ">slots": "slots", ">used": "used_slots", ">waiting": "waiting_slots",
                "order": "rules.order", "preemption": "preemption", "exclusive": "exclusive"},
            empty="no pools", no_match="no such pool"),
        ShowCommand(name="kinds", method="machines.kinds", help="List what machines can be rented, where and for what.", render=offers_table)),
    "instance": Noun("Look at the machines that were rented or started, and end them.", "list drain terminate"),
    "limit": Noun("What tenants and workspaces may hold in a pool.",
        "list set storage",
        ListCommand(method="cluster.limits", help="List what tenants and workspaces may hold.", parameters={"pool": PoolName, **ORDERED},
            columns={"pool": "pool", "tenant": "tenant", "workspace": "workspace", ">guaranteed": "guaranteed", ">maximum": "maximum", ">weight": "weight"},
            empty="no limits: everybody may hold whatever is free")),
    "template": Noun("Keep parts of configs under a name, for others to build on.",
        "create list show edit delete",
        ListCommand(method="templates.list", help="List the templates that you see.", parameters=ORDERED,
            columns={"name": "name", "for": lambda one: whose(one.workspace), "sets": lambda one: ", ".join(one.config), "changed": "changed_at", "by": "by", "": "description"},
            empty="no templates: make one with `muster template create NAME FILE`"),
        ShowCommand(method="templates.get", help="Print what a template holds, as YAML.", parameters={"template": TemplateName}, render=print_config),
        ActionCommand(name="delete", method="templates.delete", help="Take a template away; experiments that were made from it stay as they are.", parameters={"template": TemplateName},
            message="template {template} is gone")),
    "policy": Noun("See and say what configs are held to, in a workspace or the whole tenant.",
        "list set clear",
        ListCommand(method="policies.list", help="List what configs are held to: the tenant's policy, and those of its workspaces.",
            columns={"for": lambda one: whose(one.workspace), ">max_slots": "max_slots", ">priority_limit": "priority_limit",
                "sets": lambda one: ", ".join(one.invariant_config), "by": "by"},
            empty="no policies: configs are taken as they are"),
        ActionCommand(name="clear", method="policies.set", help="Take the policy of a workspace, or of the whole tenant, away.", parameters={"workspace": ForWorkspace},
            message=policy_cleared)),
    "quota": Noun("See and say how much a tenant and its workspaces do at once and store.",
        "list set",
        ListCommand(method="quotas.list", help="List the quotas of your tenant and its workspaces; who keeps the site sees every tenant's.",
            columns={"tenant": "tenant", "for": lambda one: whose(one.workspace), ">experiments": "max_experiments", ">requests a second": "requests_per_s",
                ">stored": storage_quota, "by": "by"},
            empty="no quotas: only what the site allows everybody")),
    "budget": Noun("See and say what a tenant and its workspaces may spend in a month.",
        "list set clear",
        ListCommand(method="budgets.list", help="List budgets with what was spent of them this month; who keeps the site sees every tenant's.",
            columns={"tenant": "tenant", "for": lambda one: whose(one.workspace), ">spent": lambda one: f"{one.spent:,.2f}",
                ">of": lambda one: f"{one.per_month or 0.0:,.2f}", ">part": part_spent, "when spent": lambda one: str(one.when_spent)},
            empty="no budgets: nothing bounds what is spent")),
    "reservation": Noun("Book slots of a pool for a window of time.",
        "create list delete",
        ListCommand(method="cluster.reservations", help="List what is booked and not over.", parameters=ORDERED,
            columns={"id": "id", "pool": "pool", "tenant": "tenant", "workspace": "workspace", ">slots": "slots", ">held": "held_slots",
                "from (UTC)": lambda one: utc_minute(one.begins_at), "until (UTC)": lambda one: utc_minute(one.ends_at)},
            empty="nothing is booked"),
        ActionCommand(name="delete", method="cluster.delete_reservation", help="Give a booking up; what its holder runs goes on.", parameters={"reservation": ReservationId}, message=cancellation_message)),
    "retention": Noun("See and say for how long metrics and logs are kept.",
        "list set",
        ListCommand(method="cluster.retention", help="List what your tenant and its workspaces say; an experiment's `retention_policy` may say less.",
            columns={"workspace": rule_scope, ">all points": lambda one: days(one.metric_detail_days), ">points": lambda one: days(one.metric_retention_days),
                ">log lines": lambda one: days(one.log_retention_days)},
            empty="nobody says so: as long as the site keeps them"),
        ActionCommand(name="set", method="cluster.set_retention",
            help="Say for how long metrics and logs are kept, in place of what was said before; without any days nothing is said any more.",
            parameters={"workspace": ForWorkspace, "metric_detail_days": DetailDays, "metric_retention_days": MetricDays, "log_retention_days": LogDays},
            message=rule_message, prints_warnings=True)),
    "operation": Noun("Look at what takes longer than a request waits.",
        "list show",
        ListCommand(method="operations.list", help="List your operations of the last day that took long, newest first.", parameters=ORDERED,
            columns={"id": "id", "operation": "operation", "state": "state", "since": "created_at", "why refused": "message"}, empty="nothing took long"),
        ShowCommand(method="operations.get", help="Show how far an operation is.", parameters={"operation": OperationId}, render=operation_facts)),
    "user": Noun("People and programs of your tenant, and their tokens.",
        "create list show disable enable token tokens revoke password link identities unlink",
        ActionCommand(name="create", method="users.create", help="Add a user, which may do nothing until it is given a role.",
            parameters={"name": UserName, "kind": (Service, False), "display_name": (DisplayName, "")},
            message="user {name} is there; `muster role grant` gives it something to do"),
        ActionCommand(name="disable", method="users.edit", help="End all that a user may do, by whatever token.", parameters={"user": UserName}, fixed={"disabled": True},
            message=state_message),
        ActionCommand(name="enable", method="users.edit", help="Let a disabled user's tokens count again.", parameters={"user": UserName}, fixed={"disabled": False},
            message=state_message),
        ShowCommand(name="token", method="users.create_token", help="Make a token for a user and print its secret, this one time.",
            parameters={"user": UserName, "name": (TokenName, REQUIRED), "scope": Scope, "ttl_s": (TokenDays, 30)}, render=print_secret),
        ListCommand(method="users.list", help="List the users of your tenant.", parameters={"group": InGroup, **ORDERED},
            columns={"name": "name", "kind": kind_of, "called": "display_name", "groups": lambda one: ", ".join(one.groups), "state": state_of},
            empty="there is no such user"),
        ListCommand(name="tokens", method="users.tokens", help="List the tokens of your tenant, without their secrets.", parameters=ORDERED,
            columns={"id": "id", "name": "name", "user": "user", "scope": lambda one: ", ".join(one.scope), "since": "created_at", "until": "expires_at",
                "revoked": "revoked_at"},
            empty="there is no such token"),
        ActionCommand(name="revoke", method="users.revoke_token", help="End a token, everywhere within seconds: it was lost, or is needed no more.", parameters={"token": TokenId},
            message="token {name} counts no more"),
        ActionCommand(name="link", method="users.link", help="Let a person sign in, or a program call, as who a provider says it is.",
            parameters={"user": UserName, "provider": (Provider, REQUIRED), "subject": (Subject, REQUIRED)}, message="{user} is {subject} of {issuer}"),
        ListCommand(name="identities", method="users.identities", help="List what a user is known by at providers.", parameters={"user": UserName},
            columns={"id": "id", "provider": "issuer", "subject": "subject"}, empty="no provider knows this user"),
        ActionCommand(name="unlink", method="users.unlink", help="Take from a user what it is known by at a provider.", parameters={"user": UserName, "identity": IdentityId},
            message="{user} is no longer {subject} of {issuer}")),
    "group": Noun("Users who are given roles together.",
        "create list add remove delete",
        ActionCommand(name="create", method="groups.create", help="Make a group without members.", parameters={"name": GroupName, "description": (Description, "")}, message="group {name} is there"),
        ListCommand(method="groups.list", help="List the groups of your tenant.", parameters=ORDERED,
            columns={"name": "name", ">members": "members", "description": "description"}, empty="there is no group"),
        ActionCommand(name="add", method="groups.add", help="Put a user into a group: it may do what the group may.", parameters={"group": GroupName, "user": UserName}, message=membership_message),
        ActionCommand(name="remove", method="groups.remove", help="Take a user out of a group.", parameters={"group": GroupName, "user": UserName}, message=membership_message),
        ActionCommand(name="delete", method="groups.delete", help="Take a group away with all that was given to it; its members stay.", parameters={"group": GroupName},
            message="group {group} is gone")),
    "role": Noun("Give roles on the tenant, a workspace or a project, and see who has which.",
        "list show create edit delete grant bindings revoke",
        ListCommand(method="roles.list", help="List the roles that can be given.",
            columns={"role": "name", "given on": lambda one: "tenant" if one.tenant_only else "anything", "": "description"}, empty="there is no role"),
        ShowCommand(method="roles.get", help="Show a role with its permissions.", parameters={"role": RoleName}, render=role_facts),
        ActionCommand(name="create", method="roles.create", help="Make a role of permissions that you have on the tenant.",
            parameters={"name": RoleName, "permissions": (Permissions, REQUIRED), "description": (Description, "")}, message=permissions_message),
        ActionCommand(name="edit", method="roles.edit", help="Change what a role of your tenant's own may do, for all who have it.",
            parameters={"role": RoleName, "permissions": (Permissions, REQUIRED)}, message=permissions_message),
        ActionCommand(name="delete", method="roles.delete", help="Take a role away that your tenant made and nobody has.", parameters={"role": RoleName}, message="role {role} is gone"),
        ActionCommand(name="grant", method="roles.grant", help="Give a role to a user or a group; it counts within seconds.",
            parameters={"role": RoleName, "user": ToUser, "group": ToGroup, "workspace": ToWorkspace, "project": ToProject}, message=grant_message),
        ListCommand(name="bindings", method="roles.bindings", help="List who was given which role where.",
            parameters={"role": OfRole, "user": ToUser, "group": ToGroup, "workspace": OnWorkspace, **ORDERED},
            columns={"id": "id", "role": "role", "user": "user", "group": "group", "on": lambda one: scope_of(one.workspace, one.project), "given by": "by"},
            empty="nothing of that was given"),
        ActionCommand(name="revoke", method="roles.revoke", help="Take back what was given.", parameters={"binding": BindingId}, message=revoke_message)),
    "workspace": Noun("Delete a workspace with all that is in it.", "delete"),
    "tenant": Noun("The tenants of a site, for who keeps it.",
        "create recover list delete",
        ShowCommand(name="create", method="tenants.create", help="Make a tenant and print the token of its first admin, this one time.",
            parameters={"name": TenantName, "ttl_s": (TokenDays, 7)}, render=print_secret),
        ShowCommand(name="recover", method="tenants.recover",
            help="Let a tenant in again whose admins have lost their access: print a token of its first admin, this one time.\n\n"
                "Its own list of tokens shows that this was done, and by whom.",
            parameters={"tenant": TenantName, "ttl_s": (AdminDays, 1)}, render=print_secret),
        ListCommand(method="tenants.list", help="List the tenants of the site.", parameters=ORDERED,
            columns={"name": "name", "since": lambda one: f"{one.created_at:%Y-%m-%d}", "id": "id"}, empty="there is no tenant")),
    "view": Noun("Keep places of the dashboard under names of your own.",
        "list save delete",
        ActionCommand(name="delete", method="views.delete", help="Forget a view.", parameters={"name": ViewName}, message="view {name} is gone")),
    "webhook": Noun("Have what happens sent elsewhere, signed: to a program, Slack or Alertmanager.",
        "create list show edit delete rotate test deliveries replay",
        ListCommand(method="webhooks.list", help="List the webhooks that you manage.", parameters={"workspace": InWorkspace, **ORDERED},
            columns={"name": "name", "to": "origin", "of": lambda one: scope_of(one.workspace, one.project), "events": lambda one: ", ".join(one.events) or "all",
                "state": webhook_state, ">waiting": "waiting", ">dead": "dead", "id": "id"},
            empty="there is no webhook"),
        ShowCommand(method="webhooks.get", help="Show a webhook.", parameters={"webhook": WebhookName}, render=webhook_facts),
        ActionCommand(name="delete", method="webhooks.delete", help="Take a webhook away, with all that was to be sent to it.", parameters={"webhook": WebhookName},
            message="webhook {webhook} is gone"),
        ShowCommand(name="rotate", method="webhooks.rotate_secret", help="Make a new secret and print it, this one time.",
            parameters={"webhook": WebhookName, "overlap_s": (Overlap, 24)}, render=print_secret),
        ListCommand(name="deliveries", method="webhooks.deliveries", help="List what was sent to a webhook, or is to be.",
            parameters={"webhook": WebhookName, "state": State, "limit": (Newest, 50), **ORDERED},
            columns={"time": lambda one: f"{one.created_at:%m-%d %H:%M:%S}", "event": "type", "state": lambda one: str(one.state), ">attempts": "attempts",
                "what came of it": delivery_result, "id": "id"},
            empty="nothing of that was sent")),
    "import": Noun("Take over what another platform knows.", "determined"),
    "audit": Noun("Who did what, or was refused it: read the audit log, export it and verify it.",
        "list export head verify",
        ShowCommand(name="head", method="audit.head", help="Show how far the log reaches: keep it where nobody here can change it, for a later `verify --anchor`.",
            parameters={"site": OfSite}, render=lambda found: print(f"{found.sequence}:{found.hash}"))),
    "session": Noun("Your sign-ins, and your password.",
        "list revoke link password",
        ListCommand(method="sessions.list", help="List where you are signed in.", parameters={"user": OfUser, **ORDERED},
            columns={"id": "id", "via": "via", "from": "address", "since": "created_at", "used": "used_at", "": lambda one: "this one" if one.current else ""},
            empty="there is no session")),
}
# fmt: on
"""By name, each with its verbs in the order of the help."""
