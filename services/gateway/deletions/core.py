"""States of a deletion: kill running experiments, then delete in the registry, in searcher and scheduler, and last in the gateway."""

from enum import StrEnum

from shared.state_machine import StateMachine


class DeletionStage(StrEnum):
    """The stage that the deletion waits for."""

    ENDING = "ending"
    """Experiments to end; for a workspace, its experiments to be deleted."""
    REGISTRY = "registry"
    """First of the owners, because it may refuse; nothing is deleted elsewhere before."""
    OWNERS = "owners"
    GATEWAY = "gateway"
    DONE = "done"
    REFUSED = "refused"


class DeletionTrigger(StrEnum):
    """Events that advance a deletion."""

    ENDED = "ended"
    CONFIRMED = "confirmed"
    """All owners of the stage have confirmed."""
    EMPTIED = "emptied"
    REFUSED = "refused"


_S, _T = DeletionStage, DeletionTrigger
DELETION = StateMachine(
    name="deletion",
    initial=_S.ENDING,
    table={
        (_S.ENDING, _T.ENDED): _S.REGISTRY,
        (_S.ENDING, _T.REFUSED): _S.REFUSED,
        (_S.REGISTRY, _T.CONFIRMED): _S.OWNERS,
        (_S.REGISTRY, _T.REFUSED): _S.REFUSED,
        (_S.OWNERS, _T.CONFIRMED): _S.GATEWAY,
        (_S.GATEWAY, _T.EMPTIED): _S.DONE,
    },
    final={_S.DONE, _S.REFUSED},
)
OWNERS_BY_STAGE: dict[DeletionStage, tuple[str, ...]] = {
    _S.REGISTRY: ("registry",),
    _S.OWNERS: ("searcher", "scheduler"),
}
"""Services that get a delete command when the stage begins."""
