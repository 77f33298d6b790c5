"""`muster worker`: the machines that run trials."""

from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Filter, PoolName, Sort
from muster.cli.base.output import emit, note, table
from muster.cli.command_table import NOUNS
from muster.errors import Rejected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster.client.models import Worker as WorkerView

Worker = Annotated[
    str | None, typer.Argument(metavar="[WORKER]", help="Id of the worker, from `muster worker list`.")
]
OneWorker = Annotated[
    str, typer.Argument(metavar="WORKER", help="Id of the worker, from `muster worker list`.")
]
Slot = Annotated[
    int, typer.Argument(metavar="SLOT", min=0, help="Number of the slot on its worker: the index of the GPU.")
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="KEY=VALUE",
        help="Select workers with this label. Repeat to require several labels.",
    ),
]

workers = NOUNS["worker"].app
_MOST_NAMES = 5


@verb(workers, "list")
def list_workers(pool: PoolName = None, filter_: Filter = None, sort: Sort = None) -> None:
    """List the workers and their slots."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.workers(pool, filter=filter_ or "", sort=sort or "").all()
    columns = (
        "worker",
        "pool",
        "state",
        ">slots",
        ">used",
        "kind",
        "isolation",
        "machine",
        "heartbeat",
        "labels",
    )
    rows = (
        (
            one.id,
            one.pool,
            f"{one.state}, with problem" if one.trouble else one.state,
            one.slots if not one.disabled_slots else f"{one.slots}, {len(one.disabled_slots)} off",
            one.used_slots,
            one.slot_kind,
            one.isolation,
            one.machine,
            one.last_heartbeat_at,
            ",".join(f"{key}={value}" for key, value in sorted(one.labels.items())),
        )
        for one in found
    )
    troubles = [one.trouble for one in found if one.trouble]
    limits: dict[str, list[str]] = {}
    for one in found:
        limits.setdefault(one.isolation_detail, []).append(one.id)

    def show() -> None:
        none = (
            "no worker matches the filter"
            if filter_
            else "no workers: add one with `muster worker join`, or let a pool rent machines"
        )
        table(columns, rows, none)
        for detail, names in limits.items():
            if detail:
                note("isolation of {}: {}", _some_of(names), detail)
        for trouble in troubles:
            note("{}; no new runs start there until the problem is solved", trouble)

    emit(found, show)


@verb(workers, "drain")
def drain(
    worker: Worker = None,
    label: Label = None,
    pool: PoolName = None,
    reclaim: Annotated[
        bool,
        typer.Option(
            "--reclaim", help="Preempt the runs (save and resume elsewhere) instead of letting them end."
        ),
    ] = False,
) -> None:
    """Drain a worker for maintenance, or all workers with a label: no new runs start there."""
    from muster.client import connect

    labels = _labels_of(worker, label)
    with connect() as client:
        if labels:
            found = client.cluster.drain_labelled(labels, pool, reclaim)
            emit(found, lambda: _print_drained(found, reclaim))
            return
        one = client.cluster.drain(worker or "", reclaim)
    emit(one, lambda: _print_drained([one], reclaim))


@verb(workers, "undrain")
def undrain(worker: Worker = None, label: Label = None, pool: PoolName = None) -> None:
    """Return a drained worker, or all workers with a label, to service."""
    from muster.client import connect

    labels = _labels_of(worker, label)
    with connect() as client:
        if labels:
            found = client.cluster.undrain_labelled(labels, pool)
            emit(found, lambda: _print_undrained(found))
            return
        one = client.cluster.undrain(worker or "")
    emit(one, lambda: _print_undrained([one]))


def _some_of(names: "Sequence[str]") -> str:
    """List names; of many only the first."""
    if len(names) <= _MOST_NAMES:
        return ", ".join(names)
    first = names[: _MOST_NAMES - 1]
    return ", ".join((*first, f"{len(names) - len(first)} more"))


def _labels_of(worker: str | None, label: list[str] | None) -> dict[str, str]:
    """Parse the labels. Raises Rejected if not exactly one of worker and labels is given, or a label is invalid."""
    if (worker is None) == (not label):
        raise Rejected("bad_usage", "name either a worker or labels", hint="pass WORKER, or --label rack=r7")
    from muster.config.labels import read_labels

    try:
        return read_labels(",".join(label or ()))
    except ValueError as error:
        raise Rejected("bad_label", str(error), "--label") from error


def _print_drained(workers: "Sequence[WorkerView]", reclaim: bool) -> None:
    message = "worker [bold]{}[/] is draining: {}. Undo with `muster worker undrain {}`"
    for one in workers:
        note(message, one.id, _remaining_work(one, reclaim), one.id)


def _remaining_work(found: "WorkerView", reclaim: bool) -> str:
    if found.state == "lost":
        return "it is lost and runs nothing"
    if not found.used_slots:
        return "nothing runs there"
    how = (
        "are asked to save and move" if reclaim else "continue until they end; use --reclaim to preempt them"
    )
    return f"the runs on {found.used_slots} of its {found.slots} slots {how}"


def _print_undrained(workers: "Sequence[WorkerView]") -> None:
    for one in workers:
        message = (
            "worker [bold]{}[/] is back in service" if one.state == "ready" else "worker [bold]{}[/] is {}"
        )
        note(message, one.id, one.state)
