"""Admit a rented machine by its provider's identity document, with a join token that is valid for a minute. Any replica answers."""

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
    """Compares an identity document with the recorded instance."""

    database: Database
    bus: Bus
    drivers: Mapping[str, MachineDriver]

    def answers(self) -> dict[Question, Answer]:
        return {IdentifyMachine: self.identify}

    async def identify(self, ask: RequestContext, query: IdentifyMachine) -> IssuedJoin:
        """Return a join token. The document never changes and others may have read it, so it works only until the worker has joined."""
        async with self.database.system() as connection:
            one = await store.load_by_worker(connection, query.worker)
        driver = self.drivers.get(one.driver) if one else None
        if one is None or driver is None or driver.identity is None:
            raise Rejected(
                "bad_identity", f"worker {query.worker} is not on a machine that joins by its identity"
            )
        machine = await driver.identity.machine_of(query.document, query.signature)
        _check_is(one, machine)
        _log.info("a machine was identified by its provider", worker=one.worker, machine=machine)
        return await self.bus.ask(IssueJoin(pool=one.pool, worker=one.worker, life_s=LIFE_S), SITE)


def _check_is(one: Instance, machine: str) -> None:
    """Raise Rejected if it is another machine or has joined, and Transient if its launch has not been recorded yet."""
    if one.state not in STARTING:
        message = (
            f"worker {one.worker} has already joined or ended; a machine's identity admits its worker once"
        )
        raise Rejected("bad_identity", message, hint="terminate the machine with `muster instance terminate`")
    if one.external_id is None:
        raise Transient(f"the machine of worker {one.worker} is not recorded yet", 1.0)
    if machine != one.external_id:
        _log.warning("a machine claimed the worker of another machine", worker=one.worker, machine=machine)
        raise Rejected("bad_identity", f"worker {one.worker} does not run on machine {machine}")
