"""`muster worker`: the machines."""

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
    str | None, typer.Argument(metavar="[WORKER]", help="Its id, as `muster worker list` shows it.")
]
OneWorker = Annotated[str, typer.Argument(metavar="WORKER", help="Its id, as `muster worker list` shows it.")]
Slot = Annotated[int, typer.Argument(metavar="SLOT", min=0, help="Its number there: of a GPU its index.")]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="KEY=VALUE", help="All workers that have it; several: that have all of them."
    ),
]

workers = NOUNS["worker"].app


@verb(workers, "list")
def list_workers(pool: PoolName = None, filter_: Filter = None, sort: Sort = None) -> None:
    """List the workers and their slots."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.workers(pool, filter=filter_ or "", sort=sort or "").all()
    columns = ("worker", "pool", "state", ">slots", ">used", "kind", "own user", "heard", "labels")
    rows = (
        (
            one.id,
            one.pool,
            f"{one.state}, in trouble" if one.trouble else one.state,
            one.slots if not one.disabled_slots else f"{one.slots}, {len(one.disabled_slots)} off",
            one.used_slots,
            one.slot_kind,
            one.isolated_user,
            one.last_heard,
            ",".join(f"{key}={value}" for key, value in sorted(one.labels.items())),
        )
        for one in found
    )
    troubles = [one.trouble for one in found if one.trouble]

    def show() -> None:
        none = "no such worker" if filter_ else "no workers: the provisioner starts them when there is work"
        table(columns, rows, none)
        for trouble in troubles:
            note("{}; until then nothing new begins there", trouble)

    emit(found, show)


@verb(workers, "drain")
def drain(
    worker: Worker = None,
    label: Label = None,
    pool: PoolName = None,
    reclaim: Annotated[
        bool,
        typer.Option("--reclaim", help="Ask the runs to save and go elsewhere, instead of waiting for them."),
    ] = False,
) -> None:
    """Give a worker no more work, for maintenance; or all that have a label."""
    from muster.client import connect

    labels = _labels_of(worker, label)
    with connect() as client:
        if labels:
            found = client.cluster.drain_labelled(labels, pool, reclaim)
            emit(found, lambda: _say_drained(found, reclaim))
            return
        one = client.cluster.drain(worker or "", reclaim)
    emit(one, lambda: _say_drained([one], reclaim))


@verb(workers, "undrain")
def undrain(worker: Worker = None, label: Label = None, pool: PoolName = None) -> None:
    """Give a worker work again; or all that have a label."""
    from muster.client import connect

    labels = _labels_of(worker, label)
    with connect() as client:
        if labels:
            found = client.cluster.undrain_labelled(labels, pool)
            emit(found, lambda: _say_undrained(found))
            return
        one = client.cluster.undrain(worker or "")
    emit(one, lambda: _say_undrained([one]))


def _labels_of(worker: str | None, label: list[str] | None) -> dict[str, str]:
    """Raises Rejected: neither a worker is named nor labels, or both, or what is given is no label."""
    if (worker is None) == (not label):
        raise Rejected("bad_usage", "name either a worker or labels", hint="give WORKER, or --label rack=r7")
    from muster.config.labels import read_labels

    try:
        return read_labels(",".join(label or ()))
    except ValueError as error:
        raise Rejected("bad_label", str(error), "--label") from error


def _say_drained(workers: "Sequence[WorkerView]", reclaim: bool) -> None:
    said = "worker [bold]{}[/] takes no more work: {}. `muster worker undrain {}` takes it back"
    for one in workers:
        note(said, one.id, _left(one, reclaim), one.id)


def _left(found: "WorkerView", reclaim: bool) -> str:
    if found.state == "lost":
        return "it is lost: nothing runs there"
    if not found.used_slots:
        return "nothing runs there"
    how = "were asked to save and go" if reclaim else "end by themselves; --reclaim would ask for their slots"
    return f"the runs on {found.used_slots} of its {found.slots} slots {how}"


def _say_undrained(workers: "Sequence[WorkerView]") -> None:
    for one in workers:
        said = "worker [bold]{}[/] takes work again" if one.state == "ready" else "worker [bold]{}[/] is {}"
        note(said, one.id, one.state)
