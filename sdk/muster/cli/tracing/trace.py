"""`muster trace`: the path of an experiment's request through the services, from local trace files."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.options import Number
from muster.cli.base.output import console, note, out, table
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.cli.tracing.spans import SpanNode

LONG_MS = 100.0


def trace(
    experiment: Number,
    least_ms: Annotated[
        float, typer.Option("--min-ms", min=0, help="Hide branches without a span of at least this length.")
    ] = 0.0,
    linked: Annotated[
        bool, typer.Option("--linked", help="Also summarize later work that links to the trace.")
    ] = False,
) -> None:
    """Print the trace of an experiment's creation as a tree with durations."""
    from muster.cli.tracing.spans import load, summed, tree
    from muster.client import connect
    from muster.client.settings import home

    with connect() as client:
        found = client.experiments.get(experiment)
    folder = home()
    if found.trace_id is None or folder is None or not (folder / "traces").is_dir():
        raise Rejected(
            "no_trace",
            f"this machine has no trace of experiment {found.number}",
            hint="run the command on the platform's machine, or use your OpenTelemetry backend",
        )
    own, others = load(folder / "traces", found.trace_id)
    if not own:
        raise Rejected(
            "no_trace",
            f"the trace files in {folder / 'traces'} no longer contain trace {found.trace_id}",
            hint="trace files rotate: create a new experiment to trace",
        )
    roots = tree(own)
    if out.json:
        print(json.dumps({"trace_id": found.trace_id, "spans": [node.as_json() for node in roots]}))
        return
    _print(found.trace_id, roots, least_ms)
    if linked:
        rows = (
            (one.name, one.service, one.count, f"{one.median_ms:.1f}", f"{one.total_ms:.1f}")
            for one in summed(others)
        )
        table(
            ("later work", "service", ">times", ">median ms", ">total ms"),
            rows,
            "no spans link to this trace",
        )
    elif others:
        note("[dim]{} later spans link to this trace: --linked summarizes them[/]", len(others))


def _print(trace_id: str, roots: "list[SpanNode]", least_ms: float) -> None:
    from rich.tree import Tree

    start_ns = min(node.start_ns for node in roots)
    spans, services = sum(node.size for node in roots), {name for node in roots for name in node.services}
    end_ns = max(node.last_ns for node in roots)
    view = Tree(
        f"trace [bold]{trace_id}[/]: {(end_ns - start_ns) / 1e6:.1f} ms, {spans} spans, {len(services)} services",
        guide_style="dim",
    )

    def grow(parent: Tree, nodes: "list[SpanNode]") -> None:
        for node in nodes:
            if node.longest_ms >= least_ms:
                grow(parent.add(_label(node, start_ns)), node.children)

    grow(view, roots)
    console().print(view)


def _label(node: "SpanNode", start_ns: int) -> str:
    from rich.markup import escape

    style = "bold" if node.duration_ms >= LONG_MS else ""
    label = f"[{style or 'default'}]{escape(node.name)}[/] [cyan]{escape(node.service)}[/] {node.duration_ms:.1f} ms"
    label += f" [dim]at {(node.start_ns - start_ns) / 1e6:+.1f} ms[/]"
    return f"{label} [red]{escape(node.error)}[/]" if node.error else label
