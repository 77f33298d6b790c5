"""Whatever an owner announces of a tenant is told in its feed, or it is said here why not."""

from unittest.mock import Mock

from services.gateway.events.operations import DEFAULT_KINDS, DEFAULT_MACHINE_KINDS
from services.gateway.events.schema import EventKind, MachineEventKind
from services.gateway.projections.handlers import handlers_of
from shared.messages.base import Event
from shared.messages.catalogue import ALL

OF_THE_SITE = {"instance", "provider", "pool", "worker"}
"""They belong to no tenant."""
TOLD_OTHERWISE = {
    "submission.committed": "the searcher makes an experiment of it, which is told",
    "trial.requested": "what the searcher asks of the scheduler: `trial.changed` tells what came of it",
    "request.closed": "what the scheduler answers to that: `run.ended` and `trial.changed` tell it",
    "validation.stored": "a result for the search: metrics are followed at their own path",
    "validation.superseded": "what of a trial's results counts no more: `trial.changed` tells its best since then",
    "checkpoint.delayed": "why an upload is late, for the searcher: `trial.changed` tells it as the trial's reason",
    "operation.refused": "it is told to who waits, and at /v1/operations",
    "entity.deleted": "an owner's part of a deletion: `experiment.deleted` tells that it is complete",
    "limits.changed": "the gateway's own word to who enforces it: who sets it is answered, and it is in the audit log",
    "limits.storage_changed": "as limits.changed",
    "limits.workspace_storage_changed": "as limits.changed",
}

THE_GATEWAYS = {"labels"}
"""What the gateway owns is told by the operation that changes it."""


def test_every_kind_of_entity_that_owners_announce_is_told_or_it_is_said_why_not() -> None:
    announced = {one.TYPE: one.ENTITY for one in ALL if issubclass(one, Event)}
    assert len(announced) > 20
    nobody = Mock()
    told = {kind.TYPE for kind in handlers_of(nobody, nobody) if announced.get(kind.TYPE) in set(EventKind)}
    of_tenants = {name for name, entity in announced.items() if entity not in OF_THE_SITE}
    assert of_tenants - told == set(TOLD_OTHERWISE)
    assert set(EventKind) - THE_GATEWAYS <= set(announced.values()), (
        "each kind is one that somebody announces"
    )


def test_who_names_no_kind_is_told_of_those_with_which_the_version_began() -> None:
    assert set(map(str, DEFAULT_KINDS)) == {"experiment", "trial", "run", "checkpoint", "model", "version"}
    assert set(map(str, DEFAULT_MACHINE_KINDS)) == {"instance", "provider"}


def test_machines_and_their_pools_are_told_to_the_site() -> None:
    nobody = Mock()
    taken = {kind.ENTITY for kind in handlers_of(nobody, nobody) if issubclass(kind, Event)}
    assert set(map(str, MachineEventKind)) == taken & OF_THE_SITE
