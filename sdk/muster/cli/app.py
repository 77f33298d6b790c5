"""The root of `muster`: nouns, plug-in commands, and error handling."""

import sys
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from muster.cli import audit, delete_commands, health, import_commands, saved_views, secrets, tensorboard
from muster.cli.access import sign_in, users
from muster.cli.base.command_classes import BaseCommand, verb
from muster.cli.base.errors import explain, explain_crash
from muster.cli.base.plugins import PLUGINS, Plugin, plugins
from muster.cli.checkpoints import commands as checkpoints
from muster.cli.cluster import cost, machines, pools, queue, reservations, usage, workers
from muster.cli.command_table import NOUNS
from muster.cli.experiments import commands as experiments, plan, replay
from muster.cli.models import commands as models
from muster.cli.policies import budgets, commands as policies, quotas
from muster.cli.tracing import trace
from muster.cli.trials import commands as trials, exports, search, trial_table
from muster.cli.webhooks import commands as webhooks
from muster.errors import MusterError

COMMAND_MODULES = (
    audit, budgets, checkpoints, delete_commands, experiments, import_commands, machines, models, policies, pools, quotas, reservations,
    sign_in, trials, users, saved_views, secrets, webhooks, workers,
)  # fmt: skip
"""Modules that add commands to the nouns of the table on import."""
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
    "secret",
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
    "Every command accepts --json and --debug. Exit codes: 0 success, 1 the experiment failed, 2 invalid command line, "
    "3 rejected, 4 not found, 5 conflict, 6 unreachable or busy (retry), 7 internal error, 130 interrupted."
)


class Root(TyperGroup):
    """The root group: resolves shorthands, and loads plug-in commands only when they are called."""

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
    help="Muster: fault-tolerant hyperparameter search, scheduling and distributed training.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
verb(experiments.app, "best")(trial_table.best)
verb(experiments.app, "export")(exports.metrics)
verb(experiments.app, "replay")(replay.replay)
verb(trials.app, "export")(exports.trials)
delete_commands.add_experiment_delete(experiments.app)
delete_commands.add_tenant_delete(NOUNS["tenant"].app)
for name, noun in NOUNS.items():
    app.add_typer(noun.in_order(), name=name)
app.add_typer(queue.app, name="queue")
app.command("plan", cls=BaseCommand)(plan.plan)
app.command("usage", cls=BaseCommand)(usage.usage)
app.command("cost", cls=BaseCommand)(cost.cost)
app.command("search", cls=BaseCommand)(search.search)
app.command("trace", cls=BaseCommand)(trace.trace)
app.command("tensorboard", cls=BaseCommand)(tensorboard.tensorboard)
app.command("health", cls=BaseCommand)(health.health)
app.command("login", cls=BaseCommand)(sign_in.login)
app.command("logout", cls=BaseCommand)(sign_in.logout)
app.command("whoami", cls=BaseCommand)(sign_in.whoami)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        print(installed("muster-sdk"))
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with its exit code."""
    try:
        app()
    except MusterError as error:
        sys.exit(explain(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:  # last resort: turn any crash into a message
        sys.exit(explain_crash(error))
