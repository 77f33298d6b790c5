"""`muster worker`: the machines."""

from typing import Annotated

import typer

from muster.cli.frame import noun, verb
from muster.cli.options import PoolName
from muster.cli.output import emit, note, table

Worker = Annotated[str, typer.Argument(metavar="WORKER", help="Its id, as `muster worker list` shows it.")]

workers = noun("Look at the workers, and drain them.")


@verb(workers, "list")
def list_workers(pool: PoolName = None) -> None:
    """List the workers and their slots."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.workers(pool).all()
    columns = ("worker", "pool", "state", ">slots", ">used", "kind", "own user", "heard", "labels")
    rows = (
        (
            one.id,
            one.pool,
            one.state,
            one.slots,
            one.used_slots,
            one.slot_kind,
            one.isolated_user,
            one.last_heard,
            ",".join(f"{key}={value}" for key, value in sorted(one.labels.items())),
        )
        for one in found
    )
    emit(found, lambda: table(columns, rows, "no workers: the provisioner starts them when there is work"))


@verb(workers, "drain")
def drain(
    worker: Worker,
    reclaim: Annotated[
        bool,
        typer.Option("--reclaim", help="Ask its runs to save and go elsewhere, instead of waiting for them."),
    ] = False,
) -> None:
    """Give a worker no more work, for maintenance."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.drain(worker, reclaim)
    if found.state == "lost":
        left = "it is lost: nothing runs there"
    elif not found.used_slots:
        left = "nothing runs there"
    else:
        how = (
            "were asked to save and go"
            if reclaim
            else "end by themselves; --reclaim would ask for their slots"
        )
        left = f"the runs on {found.used_slots} of its {found.slots} slots {how}"
    said = "worker [bold]{}[/] takes no more work: {}. `muster worker undrain {}` takes it back"
    emit(found, lambda: note(said, found.id, left, found.id))


@verb(workers, "undrain")
def undrain(worker: Worker) -> None:
    """Give a worker work again."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.undrain(worker)
    said = "worker [bold]{}[/] takes work again" if found.state == "ready" else "worker [bold]{}[/] is {}"
    emit(found, lambda: note(said, found.id, found.state))
