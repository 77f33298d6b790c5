"""How well a holder has been served: what it holds now and what it held lately, over its weight, in exact numbers. A user's own experiments
are compared by their priority first: it says which of them matters most to the user, and takes nothing from anybody else."""

from services.scheduler.core.state.indexes.decay import STEP_MS, UsageHistory
from services.scheduler.core.state.indexes.share_tree import ShareNode
from services.scheduler.core.state.records.slots import SlotCount

Rank = tuple[bool, int, int]


class UsageRank:
    """Moves in steps: plans of one step see one past."""

    def __init__(self, history: UsageHistory, now_ms: int) -> None:
        self._history = history
        self._integral = history.decay.until(now_ms // STEP_MS * STEP_MS)
        self._present = history.decay.present(now_ms)

    def rank(self, node: ShareNode, held: SlotCount) -> Rank:
        """What is smaller goes first, if it held so much: those below their guarantee, then (among experiments of one user) those of
        the more important priority, then those with the lesser share."""
        past = node.past or self._history.past_of(node)
        share = held * self._present
        if past is not None:
            share += past.held * self._integral + past.offset
        share = share * 1000 // node.weight
        return (held >= node.quota.guaranteed, node.priority, share)
