"""Composition root. All decisions and effects happen in a leader's term; a standby answers queries and waits for the lease."""

import asyncio
import os
from datetime import timedelta
from random import Random

import structlog

from muster.config.labels import read_labels
from services.provisioner import store
from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.provisioner.drivers.driver import MachineDriver
from services.provisioner.drivers.host_resources import count_cores, find_gpus, worker_environment
from services.provisioner.drivers.local import LocalDriver, LocalSite
from services.provisioner.handlers import SchedulerEventHandlers
from services.provisioner.pools.catalogue import CatalogueFile
from services.provisioner.pools.current_pools import Pools
from services.provisioner.providers.driver_factory import OpenedDrivers
from services.provisioner.queries.costs import CostQueries
from services.provisioner.queries.identities import IdentityQueries
from services.provisioner.queries.machine_pools import PoolQueries
from services.provisioner.reconcile.driver_calls import Effects, TermContext
from services.provisioner.reconcile.loop import Reconciler
from services.provisioner.settings import ProvisionerSection, Settings, inherited_environment
from shared.bus import Consumer
from shared.bus.republish import republishing
from shared.database.leases import run_term
from shared.errors import Conflict, Rejected, Transient
from shared.ids import PoolName, new_id
from shared.infrastructure import Infrastructure
from shared.messages.trial_specs import SlotKind
from shared.runtime.process import ServiceProcess

NAME = "provisioner"
_log = structlog.get_logger()


async def compose(settings: Settings, process: ServiceProcess) -> None:
    """Connect, migrate the schema, then wait for the lease."""
    own, environment = settings.provisioner, inherited_environment()
    gpus = () if own.slot_kind == "cpu" else await asyncio.to_thread(find_gpus, environment)
    spec = spec_of(own, len(gpus), count_cores())
    site = LocalSite(
        directory=own.directory.absolute(),
        command=own.worker_command,
        # The present address of the bus: a worker that joined before may know an outdated one.
        environment={
            **worker_environment(environment),
            "MUSTER_NATS__URL": settings.nats.url,
            **({"MUSTER_WORKER__LABELS": own.labels} if own.labels else {}),
        },
        gateway_url=own.gateway_url,
        address=own.address,
        devices=gpus if spec.kind != "cpu" else (),
    )
    infrastructure = await Infrastructure.connect(process, settings.postgres, settings.nats)
    database, bus, units, clock = (
        infrastructure.database,
        infrastructure.bus,
        infrastructure.units,
        infrastructure.clock,
    )
    async with database.system() as connection:
        await store.seed_provider(connection, spec)
    path = environment.get("PATH", os.defpath)
    opened = OpenedDrivers(own.providers, own.gateway_url, path, clock, Random(str(new_id(clock))))
    drivers: dict[str, MachineDriver] = {LocalDriver.name: LocalDriver(site), **await process.enter(opened)}
    pools = Pools(spec, CatalogueFile(own.catalogue, spec.offers), frozenset(drivers))
    lease, woken = infrastructure.lease("leader"), asyncio.Event()
    means = TermContext(pools, database, units, lease, bus, drivers, clock)
    of_pools = PoolQueries(database, units, pools, clock, woken.set).answers()
    admission = IdentityQueries(database, bus, drivers).answers()
    await infrastructure.respond({**CostQueries(database, pools, clock).answers(), **of_pools, **admission})
    infrastructure.publish()
    infrastructure.lead(lease, lambda epoch, ended: serve_term(means, epoch, ended, woken))
    process.mark_ready()


def spec_of(own: ProvisionerSection, gpus: int, cores: int) -> PoolSpec:
    """Return the pool of the settings on this machine: one worker with all GPUs, otherwise one for each core.

    Raises:
        Rejected: GPUs are requested and there are none, or the minimum is above the maximum (`bad_settings`).
    """
    auto: SlotKind = "cuda" if gpus else "cpu"
    kind = auto if own.slot_kind == "auto" else own.slot_kind
    count = cores if kind == "cpu" else gpus
    if count == 0:
        raise Rejected("bad_settings", f"MUSTER_PROVISIONER__SLOT_KIND={kind}, but no GPU was found")
    slots = own.slots_per_worker or (1 if kind == "cpu" else count)
    maximum = own.maximum if own.maximum is not None else max(own.minimum, count // slots, 1)
    if own.minimum > maximum:
        raise Rejected(
            "bad_settings", f"MUSTER_PROVISIONER__MINIMUM={own.minimum} is above the maximum, {maximum}"
        )
    offer = Offer(
        MachineKind(LocalDriver.name, LocalDriver.name, slots, kind), price_per_hour=own.price_per_hour
    )
    return PoolSpec(
        pool=PoolName(own.pool),
        offers=(offer,),
        minimum=own.minimum,
        maximum=maximum,
        idle_timeout=timedelta(seconds=own.idle_timeout_s),
        join_timeout=timedelta(seconds=own.join_timeout_s),
        labels=read_labels(own.labels),
    )


async def serve_term(means: TermContext, epoch: int, ended: asyncio.Event, woken: asyncio.Event) -> None:
    """Lead until the lease is lost or the process stops. Machines stay as they are. Setting `woken` starts a pass at once."""
    over = asyncio.Event()
    effects = Effects(means, woken.set)
    reconciler = Reconciler(means, effects, woken)
    for driver in means.drivers.values():
        driver.watch(woken.set)
    events = Consumer(means.bus, means.units, NAME, SchedulerEventHandlers(woken.set).events())
    commands = Consumer(means.bus, means.units, NAME, republishing(NAME))
    try:
        jobs = [reconciler.run(over), events.run(over), commands.run(over), _wake_at(over, woken)]
        await run_term(jobs, ended, over)
    except (Transient, Conflict) as error:
        _log.warning("a term ended early", epoch=epoch, error=str(error))
    finally:
        await effects.close()


async def _wake_at(over: asyncio.Event, woken: asyncio.Event) -> None:
    """End the reconcile loop's pause with the term."""
    await over.wait()
    woken.set()
