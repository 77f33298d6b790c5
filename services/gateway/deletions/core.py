"""The life of a deletion: what trains is ended, the registry agrees and empties itself, then the other owners, and the gateway at last."""

from enum import StrEnum

from shared.state_machine import StateMachine


class DeletionStage(StrEnum):
    """What is waited for."""

    ENDING = "ending"
    """Until nothing of it trains any more; of a workspace, until its experiments are gone."""
    REGISTRY = "registry"
    """It may refuse, so nobody else has let anything go yet."""
    OWNERS = "owners"
    GATEWAY = "gateway"
    DONE = "done"
    REFUSED = "refused"


class DeletionTrigger(StrEnum):
    """What moves a deletion on."""

    ENDED = "ended"
    CONFIRMED = "confirmed"
    """By all that were asked."""
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
"""Whom a stage asks when it begins."""
