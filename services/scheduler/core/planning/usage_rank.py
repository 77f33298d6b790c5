"""The usage rank of a holder: slots held now and recently, divided by its weight, in exact numbers. Experiments
of one user are compared by priority first; it does not affect other users."""

from services.scheduler.core.state.indexes.decay import STEP_MS, UsageHistory
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.slots import SlotCount

Rank = tuple[bool, int, int]


class UsageRank:
    """Advances in steps: plans of the same step see the same past usage."""

    def __init__(self, history: UsageHistory, now_ms: int) -> None:
        self._history = history
        self._integral = history.decay.until(now_ms // STEP_MS * STEP_MS)
        self._present = history.decay.present(now_ms)

    def rank(self, node: ShareNode, held: SlotCount) -> Rank:
        """Return the sort key if the holder held `held` slots; smaller goes first: holders below their
        guarantee, then (among experiments of one user) the more important priority, then the lower usage."""
        past = node.past or self._history.past_of(node)
        share = held * self._present
        if past is not None:
            share += past.held * self._integral + past.offset
        share = share * 1000 // node.weight
        return (held >= node.quota.guaranteed, node.priority, share)
