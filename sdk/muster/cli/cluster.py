"""`muster worker`, `muster pool`: the machines."""

from muster.cli.frame import noun, verb
from muster.cli.options import PoolName
from muster.cli.output import emit, table

workers = noun("Look at the workers.")
pools = noun("Look at the resource pools.")


@verb(workers, "list")
def list_workers(pool: PoolName = None) -> None:
    """List the workers and their slots."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.workers(pool).all()
    columns = ("worker", "pool", "state", ">slots", ">used", "kind", "own user", "heard")
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
        )
        for one in found
    )
    emit(found, lambda: table(columns, rows, "no workers: the provisioner starts them when there is work"))


@verb(pools, "list")
def list_pools() -> None:
    """List the pools and what is free in them."""
    from muster.client import connect

    with connect() as client:
        found = client.cluster.pools().all()
    columns = ("pool", "kind", ">workers", ">slots", ">used", ">waiting", "preemption", "exclusive")
    rows = (
        (
            one.name, one.slot_kind, one.workers, one.slots, one.used_slots, one.waiting_slots,
            one.preemption, one.exclusive,
        )
        for one in found
    )  # fmt: skip
    emit(found, lambda: table(columns, rows, "no pools"))
