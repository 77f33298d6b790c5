"""The commands `muster config check` and `muster doctor`. Heavy imports are deferred until a command runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

config = typer.Typer(
    help="Explain and check the settings of services and workers.", no_args_is_help=True, add_completion=False
)

Processes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PROCESS",
        help="gateway, registry, searcher, scheduler, provisioner, simulator, bus-keeper or worker. Default: those that have settings here.",
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--env-file", metavar="FILE",
        help="Read settings from this file of NAME=VALUE lines (systemd's EnvironmentFile) instead of the environment. Repeatable.",
    ),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@config.callback()
def _config() -> None:
    """Explain and check the settings of services and workers."""


@config.command("check")
def check(
    processes: Processes = None,
    env_file: Files = None,
    only_set: Annotated[bool, typer.Option("--set", help="Explain only settings that are set.")] = False,
    as_json: Json = False,
) -> None:
    """Explain every setting, and report wrong ones; exit code 1 if a process would not start with them."""
    from deploy.checks.configuration.checking import check_configuration
    from deploy.checks.configuration.processes import choose_processes
    from deploy.checks.configuration.values import read_values
    from deploy.checks.render import print_settings

    values = read_values(env_file or [])
    report = check_configuration(choose_processes(processes or [], values), values)
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        print_settings(report, only_set=only_set)
    raise typer.Exit(0 if report.is_ok else 1)


def doctor(
    processes: Processes = None,
    env_file: Files = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, max=300, help="Seconds after which a check counts as failed.")
    ] = 20.0,
    as_json: Json = False,
) -> None:
    """Check this machine, and the servers that its settings name; exit code 1 if something is wrong."""
    from deploy.checks.configuration.checking import check_configuration
    from deploy.checks.configuration.processes import choose_processes
    from deploy.checks.configuration.values import read_values
    from deploy.checks.doctor import plan_checks
    from deploy.checks.findings import Level, run_checks
    from deploy.checks.render import print_results

    values = read_values(env_file or [])
    report = check_configuration(choose_processes(processes or [], values), values)
    results = run_checks(plan_checks(report), timeout)
    is_ok = all(one.level is not Level.ERROR for one in results)
    if as_json:
        print(json.dumps({"ok": is_ok, "checks": [one.to_json() for one in results]}))
    else:
        print_results(results)
    raise typer.Exit(0 if is_ok else 1)
