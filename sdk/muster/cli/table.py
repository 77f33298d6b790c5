"""The nouns of the command line: their verbs, and those that are one call of the client, with what people are shown of the answer.

Verbs that are more stand in a noun's own folder, and are added to its `app` there.
"""

from typing import Annotated

import typer

from muster.cli.access.render import (
    granted,
    groups_of,
    kind_of,
    may,
    place_of,
    revoked,
    role_facts,
    state_of,
)
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
    word_of,
)
from muster.cli.base.output import size, slots
from muster.cli.base.plain import REQUIRED, Does, Flags, Lists, Noun, Shows
from muster.cli.base.plugins import Extended
from muster.cli.checkpoints.render import show_checkpoint, show_collected, show_storage
from muster.cli.cluster.render import given_up, offers_table, utc
from muster.cli.experiments.render import trial_count
from muster.cli.models.render import aliases_of
from muster.cli.operations.render import operation_facts
from muster.cli.policies.render import part_spent, print_config, stored, whose
from muster.cli.trials.explaining import show as show_explanation
from muster.cli.trials.render import show_phases
from muster.cli.webhooks.render import came_of, state_of as webhook_state, webhook_facts

ORDERED: Flags = {"filter": Filter, "sort": Sort}

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
State = Annotated[str | None, typer.Option("--state", parser=word_of("DeliveryState"), metavar="STATE", help="waiting, delivered or dead.")]
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

EXPLAIN = Shows(name="explain", call="trials.explain", told="Tell why a trial waits, who holds what it waits for, and what would let it start; or that it runs.",
    flags={"trial": TrialName}, shown=show_explanation)
"""Of `trial` and of `queue`."""

QUEUE = Lists(call="cluster.queue", told="Show what runs and what waits, and why.", flags={"pool": PoolName, **ORDERED},
    columns={">place": "position", "trial": lambda one: f"{one.experiment_number}.{one.trial_number}", "pool": "pool", ">priority": "priority",
        ">slots": lambda one: slots(one.slots, one.min_slots, one.max_slots, one.slot_part), "state": "state", "why": "reason", "since": "since"},
    empty="nothing runs and nothing waits", none_such="nothing of that kind runs or waits")

NOUNS = {
    "experiment": Noun("Create, watch and steer experiments.",
        "create list describe front code logs metrics wait pause resume cancel kill finish archive unarchive edit act label search fork best export replay delete",
        Lists(call="experiments.list", told="List experiments, newest first or as they are sorted.",
            flags={"states": ExperimentStates, "labels": Label, "name_contains": NameText, "archived": Archived, **ORDERED, "limit": (Most, 50)},
            columns={">#": "number", "name": "name", "state": "state", ">progress": lambda one: f"{one.progress:.0%}", "search": "searcher", ">trials": trial_count,
                ">best": "best.value", "owner": "owner", "created": "created_at"},
            empty="no experiments: make one with `muster experiment create CONFIG`", none_such="no such experiment"),
        Does(name="pause", call="experiments.pause", told="Let the trials save and give their slots back.", flags={"experiment": Number},
            said="experiment {number} was asked to pause; it is now [bold]{state}[/]"),
        Does(name="resume", call="experiments.resume", told="Let a paused experiment go on.", flags={"experiment": Number},
            said="experiment {number} was asked to go on; it is now [bold]{state}[/]"),
        Does(name="cancel", call="experiments.cancel", told="End an experiment; its trials may save a last checkpoint.", flags={"experiment": Number},
            said="experiment {number} was asked to end; it is now [bold]{state}[/]"),
        Does(name="kill", call="experiments.kill", told="End an experiment at once.", flags={"experiment": Number},
            said="experiment {number} was told to end at once; it is now [bold]{state}[/]"),
        Does(name="finish", call="experiments.finish", told="End a search early, as completed; its trials may save a last checkpoint.", flags={"experiment": Number},
            said="experiment {number} was asked to end with the best so far; it is now [bold]{state}[/]"),
        Does(name="archive", call="experiments.archive", told="Hide an ended experiment from lists.", flags={"experiment": Number},
            said="experiment {number} is out of the lists"),
        Does(name="unarchive", call="experiments.unarchive", told="Show an archived experiment in lists again.", flags={"experiment": Number},
            said="experiment {number} is back in the lists")),
    "trial": Noun("Look at trials, their metrics, logs and checkpoints, and kill one.",
        "list columns compare describe kill logs metrics checkpoints phases explain export",
        Does(name="kill", call="trials.kill", told="End one trial at once, without a last checkpoint; its experiment goes on without it.", flags={"trial": TrialName},
            said="trial {experiment_number}.{number} was told to end at once; it is now [bold]{state}[/]"),
        Lists(name="checkpoints", call="checkpoints.of_trial", told="List a trial's checkpoints, oldest first or as they are sorted.", flags={"trial": TrialName, **ORDERED},
            columns={">step": "step", "state": "state", ">run": "run", ">files": "files", ">size": lambda one: size(one.size_bytes),
                "metrics": lambda one: ", ".join(f"{name} {value:.4g}" for name, value in one.metrics.items()), "created": "created_at", "id": "id"},
            empty="no checkpoints yet", none_such="no such checkpoint"),
        Shows(name="phases", call="trials.phases", told="Show what a trial did when: waiting, fetching, starting, training and saving checkpoints, by run.",
            flags={"trial": TrialName}, shown=show_phases),
        EXPLAIN),
    "checkpoint": Noun("List, fetch, verify, label and delete checkpoints.",
        "list describe download edit verify delete collect storage",
        Shows(name="describe", call="checkpoints.get", told="Show a checkpoint, what is said about it, and its files.", flags={"checkpoint": CheckpointId}, shown=show_checkpoint),
        Shows(name="collect", call="checkpoints.collect",
            told="Delete what an experiment's rule does not keep, also while it runs; counts that are given are its rule from now on.",
            flags={"experiment": Number, "dry_run": DryRun, "save_experiment_best": ExperimentBest, "save_trial_best": TrialBest, "save_trial_latest": TrialLatest},
            shown=show_collected),
        Shows(name="storage", call="checkpoints.storage", told="Show how many bytes your tenant and its workspaces store, and how many they may.", shown=show_storage)),
    "model": Noun("Register models, name and stage their versions, and see where they come from.",
        "create list describe edit register download alias unalias stage approve reject compare lineage use delete",
        Lists(call="models.list", told="List models by name, or as they are sorted.",
            flags={"name_contains": NameText, "workspace": ModelWorkspace, "tag": ModelTag, **ORDERED},
            columns={"name": "name", "workspace": "workspace", ">versions": "versions", "aliases": aliases_of, "tags": lambda one: ", ".join(one.tags),
                "description": "description", "owner": "owner", "created": "created_at"},
            empty="no models: make one with `muster model create NAME`", none_such="no such model"),
        Does(name="unalias", call="models.delete_alias", told="Take an alias away; the version stays.", flags={"model": ModelName, "alias": Alias},
            said="{name}@{alias} names nothing any more")),
    "worker": Noun("Look at the workers, drain them, and let machines join.",
        "list token drain undrain disable-slot enable-slot",
        Does(name="disable-slot", call="cluster.disable_slot", told="Give one slot of a worker no more work, for a fault of one GPU.", flags={"worker": WorkerName, "slot": Slot},
            said="slot {slot} of worker [bold]{id}[/] takes no more work; what runs there ends by itself. `muster worker enable-slot {id} {slot}` takes it back"),
        Does(name="enable-slot", call="cluster.enable_slot", told="Give a slot work again.", flags={"worker": WorkerName, "slot": Slot},
            said="slot {slot} of worker [bold]{id}[/] takes work again"),
        group=Extended),
    "pool": Noun("Look at the resource pools, and change how they are shared.",
        "list describe set create update delete kinds",
        Lists(call="cluster.pools", told="List the pools and what is free in them.", flags=ORDERED,
            columns={"pool": "name", "kind": "slot_kind", ">workers": "workers", ">slots": "slots", ">used": "used_slots", ">waiting": "waiting_slots",
                "order": "rules.order", "preemption": "preemption", "exclusive": "exclusive"},
            empty="no pools", none_such="no such pool"),
        Shows(name="kinds", call="machines.kinds", told="List what machines can be rented, where and for what.", shown=offers_table)),
    "instance": Noun("Look at the machines that were rented or started, and end them.", "list drain terminate"),
    "limit": Noun("What tenants and workspaces may hold in a pool.",
        "list set storage",
        Lists(call="cluster.limits", told="List what tenants and workspaces may hold.", flags={"pool": PoolName, **ORDERED},
            columns={"pool": "pool", "tenant": "tenant", "workspace": "workspace", ">guaranteed": "guaranteed", ">maximum": "maximum", ">weight": "weight"},
            empty="no limits: everybody may hold whatever is free")),
    "template": Noun("Keep parts of configs under a name, for others to build on.",
        "create list show edit delete",
        Lists(call="templates.list", told="List the templates that you see.", flags=ORDERED,
            columns={"name": "name", "for": lambda one: whose(one.workspace), "sets": lambda one: ", ".join(one.config), "changed": "changed_at", "by": "by", "": "description"},
            empty="no templates: make one with `muster template create NAME FILE`"),
        Shows(call="templates.get", told="Print what a template holds, as YAML.", flags={"template": TemplateName}, shown=print_config),
        Does(name="delete", call="templates.delete", told="Take a template away; experiments that were made from it stay as they are.", flags={"template": TemplateName},
            said="template {template} is gone")),
    "policy": Noun("See and say what configs are held to, in a workspace or the whole tenant.",
        "list set clear",
        Lists(call="policies.list", told="List what configs are held to: the tenant's policy, and those of its workspaces.",
            columns={"for": lambda one: whose(one.workspace), ">max_slots": "max_slots", ">priority_limit": "priority_limit",
                "sets": lambda one: ", ".join(one.invariant_config), "by": "by"},
            empty="no policies: configs are taken as they are")),
    "quota": Noun("See and say how much a tenant and its workspaces do at once and store.",
        "list set",
        Lists(call="quotas.list", told="List the quotas of your tenant and its workspaces; who keeps the site sees every tenant's.",
            columns={"tenant": "tenant", "for": lambda one: whose(one.workspace), ">experiments": "max_experiments", ">requests a second": "requests_per_s",
                ">stored": stored, "by": "by"},
            empty="no quotas: only what the site allows everybody")),
    "budget": Noun("See and say what a tenant and its workspaces may spend in a month.",
        "list set clear",
        Lists(call="budgets.list", told="List budgets with what was spent of them this month; who keeps the site sees every tenant's.",
            columns={"tenant": "tenant", "for": lambda one: whose(one.workspace), ">spent": lambda one: f"{one.spent:,.2f}",
                ">of": lambda one: f"{one.per_month or 0.0:,.2f}", ">part": part_spent, "when spent": lambda one: str(one.when_spent)},
            empty="no budgets: nothing bounds what is spent")),
    "reservation": Noun("Book slots of a pool for a window of time.",
        "create list delete",
        Lists(call="cluster.reservations", told="List what is booked and not over.", flags=ORDERED,
            columns={"id": "id", "pool": "pool", "tenant": "tenant", "workspace": "workspace", ">slots": "slots", ">held": "held_slots",
                "from (UTC)": lambda one: utc(one.begins_at), "until (UTC)": lambda one: utc(one.ends_at)},
            empty="nothing is booked"),
        Does(name="delete", call="cluster.delete_reservation", told="Give a booking up; what its holder runs goes on.", flags={"reservation": ReservationId}, said=given_up)),
    "retention": Noun("See and say for how long metrics and logs are kept.", "list set"),
    "operation": Noun("Look at what takes longer than a request waits.",
        "list show",
        Lists(call="operations.list", told="List your operations of the last day that took long, newest first.", flags=ORDERED,
            columns={"id": "id", "operation": "operation", "state": "state", "since": "created_at", "why refused": "message"}, empty="nothing took long"),
        Shows(call="operations.get", told="Show how far an operation is.", flags={"operation": OperationId}, shown=operation_facts)),
    "user": Noun("People and programs of your tenant, and their tokens.",
        "create list show disable enable token tokens revoke password link identities unlink",
        Lists(call="users.list", told="List the users of your tenant.", flags={"group": InGroup, **ORDERED},
            columns={"name": "name", "kind": kind_of, "called": "display_name", "groups": lambda one: ", ".join(one.groups), "state": state_of},
            empty="there is no such user"),
        Lists(name="tokens", call="users.tokens", told="List the tokens of your tenant, without their secrets.", flags=ORDERED,
            columns={"id": "id", "name": "name", "user": "user", "scope": lambda one: ", ".join(one.scope), "since": "created_at", "until": "expires_at",
                "revoked": "revoked_at"},
            empty="there is no such token"),
        Does(name="revoke", call="users.revoke_token", told="End a token, everywhere within seconds: it was lost, or is needed no more.", flags={"token": TokenId},
            said="token {name} counts no more"),
        Does(name="link", call="users.link", told="Let a person sign in, or a program call, as who a provider says it is.",
            flags={"user": UserName, "provider": (Provider, REQUIRED), "subject": (Subject, REQUIRED)}, said="{user} is {subject} of {issuer}"),
        Lists(name="identities", call="users.identities", told="List what a user is known by at providers.", flags={"user": UserName},
            columns={"id": "id", "provider": "issuer", "subject": "subject"}, empty="no provider knows this user"),
        Does(name="unlink", call="users.unlink", told="Take from a user what it is known by at a provider.", flags={"user": UserName, "identity": IdentityId},
            said="{user} is no longer {subject} of {issuer}")),
    "group": Noun("Users who are given roles together.",
        "create list add remove delete",
        Does(name="create", call="groups.create", told="Make a group without members.", flags={"name": GroupName, "description": (Description, "")}, said="group {name} is there"),
        Lists(call="groups.list", told="List the groups of your tenant.", flags=ORDERED,
            columns={"name": "name", ">members": "members", "description": "description"}, empty="there is no group"),
        Does(name="add", call="groups.add", told="Put a user into a group: it may do what the group may.", flags={"group": GroupName, "user": UserName}, said=groups_of),
        Does(name="remove", call="groups.remove", told="Take a user out of a group.", flags={"group": GroupName, "user": UserName}, said=groups_of),
        Does(name="delete", call="groups.delete", told="Take a group away with all that was given to it; its members stay.", flags={"group": GroupName},
            said="group {group} is gone")),
    "role": Noun("Give roles on the tenant, a workspace or a project, and see who has which.",
        "list show create edit delete grant bindings revoke",
        Lists(call="roles.list", told="List the roles that can be given.",
            columns={"role": "name", "given on": lambda one: "tenant" if one.tenant_only else "anything", "": "description"}, empty="there is no role"),
        Shows(call="roles.get", told="Show a role with its permissions.", flags={"role": RoleName}, shown=role_facts),
        Does(name="create", call="roles.create", told="Make a role of permissions that you have on the tenant.",
            flags={"name": RoleName, "permissions": (Permissions, REQUIRED), "description": (Description, "")}, said=may),
        Does(name="edit", call="roles.edit", told="Change what a role of your tenant's own may do, for all who have it.",
            flags={"role": RoleName, "permissions": (Permissions, REQUIRED)}, said=may),
        Does(name="delete", call="roles.delete", told="Take a role away that your tenant made and nobody has.", flags={"role": RoleName}, said="role {role} is gone"),
        Does(name="grant", call="roles.grant", told="Give a role to a user or a group; it counts within seconds.",
            flags={"role": RoleName, "user": ToUser, "group": ToGroup, "workspace": ToWorkspace, "project": ToProject}, said=granted),
        Lists(name="bindings", call="roles.bindings", told="List who was given which role where.",
            flags={"role": OfRole, "user": ToUser, "group": ToGroup, "workspace": OnWorkspace, **ORDERED},
            columns={"id": "id", "role": "role", "user": "user", "group": "group", "on": lambda one: place_of(one.workspace, one.project), "given by": "by"},
            empty="nothing of that was given"),
        Does(name="revoke", call="roles.revoke", told="Take back what was given.", flags={"binding": BindingId}, said=revoked)),
    "workspace": Noun("Delete a workspace with all that is in it.", "delete"),
    "tenant": Noun("The tenants of a site, for who keeps it.",
        "create recover list delete",
        Lists(call="tenants.list", told="List the tenants of the site.", flags=ORDERED,
            columns={"name": "name", "since": lambda one: f"{one.created_at:%Y-%m-%d}", "id": "id"}, empty="there is no tenant")),
    "view": Noun("Keep places of the dashboard under names of your own.",
        "list save delete",
        Does(name="delete", call="views.delete", told="Forget a view.", flags={"name": ViewName}, said="view {name} is gone")),
    "webhook": Noun("Have what happens sent elsewhere, signed: to a program, Slack or Alertmanager.",
        "create list show edit delete rotate test deliveries replay",
        Lists(call="webhooks.list", told="List the webhooks that you manage.", flags={"workspace": InWorkspace, **ORDERED},
            columns={"name": "name", "to": "origin", "of": lambda one: place_of(one.workspace, one.project), "events": lambda one: ", ".join(one.events) or "all",
                "state": webhook_state, ">waiting": "waiting", ">dead": "dead", "id": "id"},
            empty="there is no webhook"),
        Shows(call="webhooks.get", told="Show a webhook.", flags={"webhook": WebhookName}, shown=webhook_facts),
        Does(name="delete", call="webhooks.delete", told="Take a webhook away, with all that was to be sent to it.", flags={"webhook": WebhookName},
            said="webhook {webhook} is gone"),
        Lists(name="deliveries", call="webhooks.deliveries", told="List what was sent to a webhook, or is to be.",
            flags={"webhook": WebhookName, "state": State, "limit": (Newest, 50), **ORDERED},
            columns={"time": lambda one: f"{one.created_at:%m-%d %H:%M:%S}", "event": "type", "state": lambda one: str(one.state), ">attempts": "attempts",
                "what came of it": came_of, "id": "id"},
            empty="nothing of that was sent")),
    "import": Noun("Take over what another platform knows.", "determined"),
    "audit": Noun("Who did what, or was refused it: read the audit log, export it and verify it.",
        "list export head verify",
        Shows(name="head", call="audit.head", told="Show how far the log reaches: keep it where nobody here can change it, for a later `verify --anchor`.",
            flags={"site": OfSite}, shown=lambda found: print(f"{found.sequence}:{found.hash}"))),
    "session": Noun("Your sign-ins, and your password.",
        "list revoke link password",
        Lists(call="sessions.list", told="List where you are signed in.", flags={"user": OfUser, **ORDERED},
            columns={"id": "id", "via": "via", "from": "address", "since": "created_at", "used": "used_at", "": lambda one: "this one" if one.current else ""},
            empty="there is no session")),
}
# fmt: on
"""By name; each has its verbs in the order of the help."""
