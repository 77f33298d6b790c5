"""The driver `gcp`: machines are Compute Engine instances; an intent is one bulk insert with the intent's id as request id."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import timedelta

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Presence, Sighting
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.drivers.driver import MachineIdentity, MachineRef
from services.provisioner.drivers.gcp.api import ComputeEngine, GcpRefused, refusal
from services.provisioner.drivers.gcp.request import (
    LABEL_INTENT,
    LABEL_SITE,
    GcpSite,
    bulk_insert,
    sighting_of,
)
from services.provisioner.drivers.rate_limit import Throttled
from shared.ids import WorkerId

_log = structlog.get_logger()


class GcpDriver:
    """Machines of one deployment in one project."""

    most_per_intent = 100
    lateness = timedelta(seconds=60)
    terminates_orphans = True

    def __init__(
        self, site: GcpSite, engine: ComputeEngine, name: str = "gcp", identity: MachineIdentity | None = None
    ) -> None:
        self.name = name
        self.identity = identity
        self._site = site
        self._engine = engine

    def watch(self, notify: Callable[[], None]) -> None:
        """Do nothing: Google sends no notifications, so changes are found by listing."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """Launch the intent's machines, then list them whatever the outcome, because an operation may fail for some machines only."""
        refused: LaunchRefusal | None = None
        try:
            if intent.offer.zone is None:
                raise GcpRefused("no_zone", "the offer names no zone, and Google Cloud needs one")
            content = bulk_insert(self._site, intent, tokens, intent.offer.zone)
            await self._engine.bulk_insert(intent.offer.zone, str(intent.id), content)
        except GcpRefused as error:
            refused = refusal(error, intent.offer.label)
        except Throttled as error:
            return Launched(refused=LaunchRefusal("throttled", error.message))
        placed = {}
        if refused is None or refused.cause != "credentials":
            placed = {
                worker: seen.external_id
                for worker, seen in (await self._look(LABEL_INTENT, str(intent.id))).items()
            }
        asked = len(intent.instances)
        _log.info(
            "machines were launched",
            intent=intent.id,
            offer=intent.offer.label,
            asked=asked,
            placed=len(placed),
        )
        if refused is None and len(placed) < asked:
            short = GcpRefused(
                "RESOURCE_POOL_EXHAUSTED", f"only {len(placed)} of {asked} machines were available"
            )
            refused = refusal(short, intent.offer.label)
        return Launched(placed, refused if len(placed) < asked else None)

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Do nothing: a stopped machine has ended and is replaced."""

    async def kick(self, worker: WorkerId) -> None:
        """Do nothing: the machine restarts a worker that exits, and a worker without heartbeat may train well."""
        _log.warning(
            "a worker on Google Cloud sends no heartbeat; its machine is left running", worker=worker
        )

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        return await self._look(LABEL_SITE, self._site.name)

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        """Delete machines with their disks, including those that have shut down."""
        names = {machine.external_id for machine in machines if machine.external_id is not None}
        unnamed = {machine.worker for machine in machines if machine.external_id is None}
        if unnamed:
            seen = await self.observe()
            names |= {str(seen[worker].external_id) for worker in unnamed & seen.keys()}
        for name in sorted(names):
            zone, _, machine = name.partition("/")
            await self._engine.delete(zone, machine)

    async def _look(self, label: str, value: str) -> dict[WorkerId, Sighting]:
        """Return machines with this label. If two zones have the same name, the existing machine is the worker's, a second one is extra."""
        found: dict[WorkerId, Sighting] = {}
        async for one in self._engine.instances(label, value):
            seen = sighting_of(one)
            if seen is not None:
                worker, sighting = seen
                found[worker] = _joined(found[worker], sighting) if worker in found else sighting
        return found


def _joined(first: Sighting, second: Sighting) -> Sighting:
    kept, other = (second, first) if first.presence is Presence.ENDED else (first, second)
    if other.presence is Presence.ENDED or other.external_id is None:
        return kept
    return replace(kept, extras=(*kept.extras, other.external_id))
