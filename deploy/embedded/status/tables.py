"""Prints the report of `muster status`."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from deploy.embedded.status.report import PoolIsolation, ProcessRow, Report

_STATE_STYLES = {"running": "green", "external": "green", "stopped": "dim", "failing": "red"}


def print_report(report: Report) -> None:
    """Print the parts, workers, memory and warnings."""
    console = Console(highlight=False)
    if not report.running:
        why = f": {report.message}" if report.phase == "failed" and report.message else ""
        console.print(f"no platform runs in {report.home}{why}", soft_wrap=True)
    else:
        state = "[bold yellow]degraded[/]" if report.problems else f"[bold]{report.phase}[/]"
        console.print(f"{state}  {report.url}  gRPC {report.grpc}  ({report.home})", soft_wrap=True)
    for problem in report.problems:
        since = f" since {problem.since}" if problem.since else ""
        console.print(
            f"[yellow]{escape(problem.check)}:[/] {escape(problem.reason)}{since} ({', '.join(problem.services)})",
            soft_wrap=True,
        )
    if report.parts or report.workers:
        console.print(_table((*report.parts, *report.workers)))
    if report.running:
        console.print(
            f"memory (proportional): servers and services {_mebibytes(report.platform_pss_bytes)}, "
            f"workers with warm parents {_mebibytes(report.workers_pss_bytes)}",
            soft_wrap=True,
        )
    for one in report.isolation:
        console.print(f"isolation in pool {one.pool}: {escape(_isolation(one))}", soft_wrap=True)
    for part in report.parts:
        if part.restarted_for:
            up = f"{_duration(part.uptime_s)} ago" if part.uptime_s is not None else "last"
            console.print(f"{part.name} was restarted {up}: {part.restarted_for}", soft_wrap=True)
    for warning in report.warnings:
        console.print(f"[yellow]warning:[/] {warning}", soft_wrap=True)


def _isolation(one: PoolIsolation) -> str:
    return f"{one.isolation}, {one.detail} ({', '.join(one.workers)})"


def _table(lines: tuple[ProcessRow, ...]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("part", "kind", "state"):
        table.add_column(name)
    for name in ("pid", "ports", "up", "restarts", "memory"):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        style = _STATE_STYLES.get(line.state, "yellow")
        table.add_row(
            line.name,
            line.kind,
            f"[{style}]{line.state}[/]",
            str(line.pid or "–"),
            _ports(line.ports),
            _duration(line.uptime_s),
            str(line.restarts),
            _mebibytes(line.pss_bytes) if line.pss_bytes else "–",
        )
    return table


def _ports(ports: tuple[int, ...]) -> str:
    return " ".join(map(str, ports[:2])) + (f" +{len(ports) - 2}" if len(ports) > 2 else "")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"
