"""The options of `muster pool set`: one for each of a pool's rules."""

from typing import Annotated, Literal

import typer

NONE = "none"
"""As a value: without it."""

Order = Annotated[
    Literal["fifo", "priority", "fair_share"] | None, typer.Option("--order", help="Who goes first.")
]
Preemption = Annotated[
    bool | None,
    typer.Option("--preemption/--no-preemption", help="Waiting requests may ask for slots of lesser runs."),
]
Elastic = Annotated[
    bool | None, typer.Option("--elastic/--no-elastic", help="Lend idle slots to elastic runs.")
]
DefaultPriority = Annotated[
    int | None, typer.Option("--default-priority", help="Of experiments that name none: 1 (first) to 99.")
]
Ageing = Annotated[
    str | None,
    typer.Option("--ageing", metavar="TIME", help=f"Waiting so long counts one level; {NONE}: never."),
]
HalfLife = Annotated[
    str | None,
    typer.Option("--half-life", metavar="TIME", help="After it, past use counts half (fair share)."),
]
MinRun = Annotated[
    str | None,
    typer.Option("--min-run", metavar="TIME", help="So long a run is not asked for its slots."),
]
MaxPreemptions = Annotated[
    str | None,
    typer.Option(
        "--max-preemptions", metavar="N", help=f"So often a trial is asked at most; {NONE}: no limit."
    ),
]
Defragment = Annotated[
    bool | None,
    typer.Option("--defragment/--no-defragment", help="Move runs so that free slots come together."),
]
Quantum = Annotated[
    str | None,
    typer.Option(
        "--quantum",
        metavar="TIME",
        help=f"After it, and a first checkpoint, a run yields to equals; {NONE}: never.",
    ),
]
Topology = Annotated[
    str | None,
    typer.Option(
        "--topology",
        metavar="KEYS",
        help=f"Label keys from narrow to wide, such as rack,zone: gangs stay within one; {NONE}: anywhere.",
    ),
]
Placement = Annotated[
    Literal["best_fit", "spread"] | None,
    typer.Option("--placement", help="Take the fullest machine that will do, or the emptiest."),
]
