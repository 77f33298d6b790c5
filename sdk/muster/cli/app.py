"""The root of `muster`: the nouns, the commands that other packages bring, and the one place where errors end."""

import sys
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from muster.cli import audit, deleting, health, importing, operation, tensorboard, views as view
from muster.cli.access import roles as role, sign_in, users as user
from muster.cli.base.failure import explain, explain_crash
from muster.cli.base.frame import Command, verb
from muster.cli.base.plugins import PLUGINS, Plugin, plugins
from muster.cli.checkpoints import commands as checkpoint
from muster.cli.cluster import (
    cost,
    machines,
    pools as pool,
    queue,
    reservations as reservation,
    usage,
    workers as cluster,
)
from muster.cli.experiments import commands as experiment, plan, replay
from muster.cli.models import commands as model
from muster.cli.policies import budgets as budget, commands as policy, quotas as quota, retention
from muster.cli.tracing import trace
from muster.cli.trials import commands as trial, exports, search, tables
from muster.cli.webhooks import commands as webhook
from muster.errors import MusterError

SHORTHANDS = {
    "e": "experiment",
    "exp": "experiment",
    "t": "trial",
    "c": "checkpoint",
    "m": "model",
    "w": "worker",
    "p": "pool",
}
ORDER = (
    "plan",
    "experiment",
    "trial",
    "checkpoint",
    "model",
    "worker",
    "pool",
    "instance",
    "limit",
    "template",
    "policy",
    "quota",
    "budget",
    "queue",
    "operation",
    "reservation",
    "retention",
    "usage",
    "cost",
    "search",
    "view",
    "trace",
    "tensorboard",
    "user",
    "group",
    "role",
    "workspace",
    "tenant",
    "webhook",
    "import",
    "audit",
    "health",
    "session",
    "login",
    "logout",
    "whoami",
)
EPILOG = (
    "Every command takes --json and --debug. Exit codes: 0 done, 1 the experiment failed, 2 wrong command line, "
    "3 refused, 4 not found, 5 conflict, 6 not reachable or busy (try again), 7 a fault of Muster, 130 interrupted."
)


class Root(TyperGroup):
    """The root group: knows shorthands, and loads other packages' commands only when they are called."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return [*ORDER, *sorted(plugins(PLUGINS).keys() - set(ORDER))]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | TyperGroup | None:  # type: ignore[override]
        name = SHORTHANDS.get(cmd_name, cmd_name)
        own = super().get_command(ctx, name)
        if own is not None:
            return own  # type: ignore[return-value]
        plugin = plugins(PLUGINS).get(name)
        return None if plugin is None else Plugin(plugin)


app = typer.Typer(
    cls=Root,
    help="Muster: hyperparameter search, scheduling and Horovod training that survive whatever fails.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
verb(experiment.app, "best")(tables.best)
verb(experiment.app, "export")(exports.metrics)
verb(trial.app, "export")(exports.trials)
verb(experiment.app, "replay")(replay.replay)
deleting.add_experiment_delete(experiment.app)
deleting.add_tenant_delete(role.tenants)
app.add_typer(experiment.app, name="experiment")
app.add_typer(trial.app, name="trial")
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(model.app, name="model")
app.add_typer(cluster.workers, name="worker")
app.add_typer(pool.pools, name="pool")
app.add_typer(pool.limits, name="limit")
app.add_typer(machines.instances, name="instance")
app.add_typer(policy.templates, name="template")
app.add_typer(policy.policies, name="policy")
app.add_typer(quota.app, name="quota")
app.add_typer(budget.app, name="budget")
app.add_typer(reservation.app, name="reservation")
app.add_typer(retention.app, name="retention")
app.add_typer(queue.app, name="queue")
app.add_typer(operation.app, name="operation")
app.add_typer(user.users, name="user")
app.add_typer(user.groups, name="group")
app.add_typer(audit.app, name="audit")
app.add_typer(role.app, name="role")
app.add_typer(deleting.workspaces, name="workspace")
app.add_typer(role.tenants, name="tenant")
app.add_typer(view.app, name="view")
app.add_typer(webhook.app, name="webhook")
app.add_typer(importing.app, name="import")
app.add_typer(sign_in.sessions, name="session")
app.command("plan", cls=Command)(plan.plan)
app.command("usage", cls=Command)(usage.usage)
app.command("cost", cls=Command)(cost.cost)
app.command("search", cls=Command)(search.search)
app.command("trace", cls=Command)(trace.trace)
app.command("tensorboard", cls=Command)(tensorboard.tensorboard)
app.command("health", cls=Command)(health.health)
app.command("login", cls=Command)(sign_in.login)
app.command("logout", cls=Command)(sign_in.logout)
app.command("whoami", cls=Command)(sign_in.whoami)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(installed("muster"))
        raise typer.Exit


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        app()
    except MusterError as error:
        sys.exit(explain(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:  # the last place where a fault can become a sentence
        sys.exit(explain_crash(error))
