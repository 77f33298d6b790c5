"""Which worker a rented machine is, by what its provider says of it: answered with a token that is good for a minute. Any replica answers."""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from services.provisioner import store
from services.provisioner.core.instances.instance import STARTING, Instance
from services.provisioner.drivers.driver import MachineDriver
from shared.bus import Bus, RequestContext
from shared.bus.responder import Answer, Question
from shared.database.engine import Database
from shared.errors import Rejected, Transient
from shared.ids import SITE
from shared.messages.machine_pools import IdentifyMachine
from shared.messages.workers import IssuedJoin, IssueJoin

LIFE_S = 60.0
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class IdentityQueries:
    """Holds what a machine shows against the instance on record."""

    database: Database
    bus: Bus
    drivers: Mapping[str, MachineDriver]

    def answers(self) -> dict[Question, Answer]:
        return {IdentifyMachine: self.identify}

    async def identify(self, ask: RequestContext, query: IdentifyMachine) -> IssuedJoin:
        """What a machine shows never changes and others may have read it, so it opens once: until its worker has joined."""
        async with self.database.system() as connection:
            one = await store.load_by_worker(connection, query.worker)
        driver = self.drivers.get(one.driver) if one else None
        if one is None or driver is None or driver.identity is None:
            raise Rejected("bad_identity", f"no machine that joins without a token is worker {query.worker}")
        machine = await driver.identity.machine_of(query.document, query.signature)
        _check_is(one, machine)
        _log.info("a machine was known by its provider's word", worker=one.worker, machine=machine)
        return await self.bus.ask(IssueJoin(pool=one.pool, worker=one.worker, life_s=LIFE_S), SITE)


def _check_is(one: Instance, machine: str) -> None:
    """Raises Rejected where the machine is another or has joined, and Transient where its call has not been answered yet."""
    if one.state not in STARTING:
        message = (
            f"worker {one.worker} has joined, or has ended: by its machine's identity a worker joins once"
        )
        raise Rejected(
            "bad_identity", message, hint="end the machine (`muster instance terminate`); another comes"
        )
    if one.external_id is None:
        raise Transient(f"the machine of worker {one.worker} is not on record yet", 1.0)
    if machine != one.external_id:
        _log.warning("a machine said that it is another's worker", worker=one.worker, machine=machine)
        raise Rejected("bad_identity", f"worker {one.worker} is on another machine than {machine}")
