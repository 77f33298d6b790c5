"""What `muster config check` and `muster doctor` print for people."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Console
from rich.markup import escape

from deploy.checks.configuration.checking import ConfigReport, ExplainedSetting, Problem
from deploy.checks.findings import CheckOutcome, Level
from muster.cli.base.output import console, printable

_STYLES = {"ok": "green", "warning": "yellow", "error": "red"}


def print_settings(report: ConfigReport, *, only_set: bool) -> None:
    """Print every setting of every process, then the problems."""
    screen = console()
    for one in report.processes:
        listed = [setting for setting in one.explained if not only_set or setting.source != "default"]
        count = sum(setting.source != "default" for setting in one.explained)
        screen.print(f"[bold]{one.process}[/]: {len(one.explained)} settings, {count} of them set")
        for setting in listed:
            _print_setting(screen, setting)
        screen.print()
    if not report.processes:
        screen.print("no process has settings here: name one, such as `muster config check gateway`")
    for problem in report.problems:
        _print_problem(screen, problem)
    screen.print(_summary(Counter(problem.level for problem in report.problems), "the settings are valid"))


def print_results(results: Sequence[CheckOutcome]) -> None:
    """Print the results in groups; reasons and remedies only where something is wrong."""
    screen = console()
    for group, members in groupby(results, key=lambda one: one.group):
        screen.print(f"[bold]{group}[/]")
        for one in members:
            style = _STYLES[one.level]
            screen.print(f"  [{style}]{one.level:<8}[/] {_safe(one.check)}: {_safe(one.found)}")
            if one.level is not Level.OK:
                screen.print(f"           [dim]why:[/] {_safe(one.why)}")
                screen.print(f"           [dim]what to do:[/] {_safe(one.remedy)}")
    counts = Counter(str(one.level) for one in results)
    screen.print(_summary(counts, f"all {len(results)} checks pass"))


def _print_setting(screen: Console, setting: ExplainedSetting) -> None:
    value = "not set" if setting.value is None else setting.value
    style = "dim" if setting.source == "default" else "cyan"
    screen.print(f"  {setting.name} = [{style}]{_safe(value)}[/] [dim]({_safe(setting.source)})[/]")
    facts = [setting.kind]
    if setting.is_required:
        facts.append("required")
    elif setting.source != "default" and setting.default is not None:
        facts.append(f"default {setting.default}")
    screen.print(f"      {_safe(setting.meaning)} [dim]({_safe('; '.join(facts))})[/]")


def _print_problem(screen: Console, problem: Problem) -> None:
    whose = " · ".join(filter(None, (problem.process, problem.source)))
    where = f" [dim]({_safe(whose)})[/]" if whose else ""
    screen.print(f"[{_STYLES[problem.level]}]{problem.level}[/]: {_safe(problem.problem)}{where}")
    screen.print(f"  [dim]what to do:[/] {_safe(problem.remedy)}")


def _summary(counts: "Counter[str]", if_none: str) -> str:
    found = [
        f"[{_STYLES[level]}]{counts[level]} {level}{'s' if counts[level] != 1 else ''}[/]"
        for level in ("error", "warning")
        if counts[level]
    ]
    return ", ".join(found) or f"[green]{if_none}[/]"


def _safe(text: object) -> str:
    return escape(printable(str(text)))
