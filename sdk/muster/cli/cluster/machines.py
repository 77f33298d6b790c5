"""`muster pool create`, `update` and `delete`, and `muster instance`: rented machines."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import Filter, PoolName, Sort
from muster.cli.base.output import emit, facts, note, number, table
from muster.cli.cluster.machine_options import FIELDS, NewName, defining
from muster.cli.cluster.pools import Name, pools
from muster.cli.cluster.render import machine_summary, pool_facts
from muster.cli.command_table import NOUNS
from muster.errors import NotFound, Rejected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muster.client.models import InstanceRecord

_NEEDED = (
    ("kinds", "--kind", "`muster pool kinds` lists what can be rented"),
    ("maximum", "--maximum", "set the maximum number of machines"),
)

instances = NOUNS["instance"].app

Instance = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE", help="Id of the machine or of its worker, from `muster instance list`."
    ),
]


@verb(pools, "create")
@partial(defining, argument=NewName)
def create_pool(pool: str, given: dict[str, Any]) -> None:
    """Create a pool of rented machines."""
    from muster.client import connect

    for name, option, hint in _NEEDED:
        if name not in given:
            raise Rejected("invalid_request", f"a pool needs {option}", option, hint)
    with connect() as client:
        found = client.machines.create_pool(pool, **given)
    emit(found, lambda: facts(pool_facts(found)))


@verb(pools, "update")
@defining
def update_pool(pool: str, given: dict[str, Any]) -> None:
    """Change the definition of a pool; omitted options stay as they are, and running trials continue."""
    from muster.client import connect

    with connect() as client:
        unchanged = client.machines.pool(pool).model_dump(mode="json", include=set(FIELDS))
        found = client.machines.update_pool(pool, **(unchanged | given))
    emit(found, lambda: facts(pool_facts(found)))


@verb(pools, "delete")
def delete_pool(pool: Name) -> None:
    """Delete a pool; its machines are terminated as their runs end."""
    from muster.client import connect

    with connect() as client:
        found = client.machines.delete_pool(pool)
    outcome = (
        f"is deleted when its {found.instances} machines have ended" if found.instances else "is deleted"
    )
    emit(found, lambda: note("pool [bold]{}[/] {}", found.name, outcome))


@verb(instances, "list")
def list_instances(pool: PoolName = None, filter_: Filter = None, sort: Sort = None) -> None:
    """List rented machines, newest first by default."""
    from muster.client import connect

    with connect() as client:
        every = client.cluster.instances(filter=filter_ or "", sort=sort or "").all()
    found = [one for one in every if pool in (None, one.pool)]
    columns = (
        *("instance", "worker", "pool", "provider", "machine", "state", ">slots", ">price/h", ">cost"),
        *("launched", "ended", "reason"),
    )
    rows = (
        (
            one.id, one.worker, one.pool, one.driver, machine_summary(one), one.state, one.slots,
            number(one.price_per_hour), f"{one.cost:,.2f}", one.launched_at, one.ended_at, one.reason,
        )
        for one in found
    )  # fmt: skip
    none = "no machine matches the filter" if filter_ else "no machines: pools rent them when trials wait"
    emit(found, lambda: table(columns, rows, none))


@verb(instances, "drain")
def drain(instance: Instance) -> None:
    """Drain a machine: it gets no new work, its runs continue, and it is terminated when idle."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.drain(_worker_of(client.cluster.instances().all(), instance))
    emit(
        found,
        lambda: note(
            "worker [bold]{}[/] is draining: it gets no new work. Undo with `muster worker undrain {}`",
            found.id,
            found.id,
        ),
    )


@verb(instances, "terminate")
def terminate(instance: Instance) -> None:
    """Terminate a machine immediately; its runs resume elsewhere from their last checkpoint."""
    from muster.client import connect

    with connect() as client:
        known = {
            str(name): str(one.id)
            for one in client.cluster.instances().all()
            for name in (one.id, one.worker)
        }
        found = client.machines.terminate(known.get(instance, instance))
    emit(found, lambda: note("machine [bold]{}[/] ({}) is being terminated", found.id, found.worker))


def _worker_of(found: "Sequence[InstanceRecord]", instance: str) -> str:
    for one in found:
        if instance in (str(one.id), one.worker):
            return one.worker
    raise NotFound(f"instance {instance}", hint="`muster instance list` shows them")
