"""Options of `muster pool set`, one per pool rule."""

from typing import Annotated, Literal

import typer

NONE = "none"
"""Option value that removes a setting."""

Order = Annotated[
    Literal["fifo", "priority", "fair_share"] | None,
    typer.Option("--order", help="Queue order: fifo, priority or fair_share."),
]
Preemption = Annotated[
    bool | None,
    typer.Option("--preemption/--no-preemption", help="Waiting trials may preempt runs of lower rank."),
]
Elastic = Annotated[
    bool | None,
    typer.Option("--elastic/--no-elastic", help="Give idle slots to elastic runs beyond their minimum."),
]
DefaultPriority = Annotated[
    int | None,
    typer.Option("--default-priority", help="Priority of experiments that set none: 1 (first) to 99."),
]
Ageing = Annotated[
    str | None,
    typer.Option(
        "--ageing",
        metavar="TIME",
        help=f"Waiting time that raises a trial by one priority level; {NONE} for never.",
    ),
]
HalfLife = Annotated[
    str | None,
    typer.Option("--half-life", metavar="TIME", help="Half-life of past usage under fair share."),
]
MinRun = Annotated[
    str | None,
    typer.Option("--min-run", metavar="TIME", help="Minimum running time before a run may be preempted."),
]
MaxPreemptions = Annotated[
    str | None,
    typer.Option(
        "--max-preemptions", metavar="N", help=f"Maximum preemptions of a trial; {NONE} for no limit."
    ),
]
Defragment = Annotated[
    bool | None,
    typer.Option("--defragment/--no-defragment", help="Move runs to consolidate free slots on one machine."),
]
Quantum = Annotated[
    str | None,
    typer.Option(
        "--quantum",
        metavar="TIME",
        help=f"Time slice: after it and a first checkpoint, a run yields to waiting peers; {NONE} for never.",
    ),
]
Topology = Annotated[
    str | None,
    typer.Option(
        "--topology",
        metavar="KEYS",
        help=f"Label keys from narrow to wide, such as rack,zone: a gang is placed within one domain; {NONE} for anywhere.",
    ),
]
Trusted = Annotated[
    bool | None,
    typer.Option(
        "--trusted/--no-trusted",
        help="Serve one tenant only, also on workers without a sandbox.",
    ),
]
Tenant = Annotated[
    str | None,
    typer.Option("--tenant", help="Name of the only tenant of a trusted pool; by default `default`."),
]
Placement = Annotated[
    Literal["best_fit", "spread"] | None,
    typer.Option("--placement", help="Place runs on the fullest machine that fits, or on the emptiest."),
]
