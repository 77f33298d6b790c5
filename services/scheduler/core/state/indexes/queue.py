"""The queue of a pool, as groups: requests of one experiment with the same shape, in submission order. A plan
looks only at the first of a group: if it does not fit, the others do not either."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from services.scheduler.core.state.indexes.placement.capacity import PlacementRequest
from services.scheduler.core.state.indexes.share_tree import Key, RequestGroup, ShareNode
from services.scheduler.core.state.records.slots import SlotCount
from services.scheduler.core.state.records.trial import SlotNeeds, Trial
from shared.ids import ExperimentId, PoolName, TenantId, TrialId


@dataclass(frozen=True, slots=True)
class ExperimentPolicy:
    """An experiment's policy in the queue: priority, weight, limits (slots, concurrent trials) and pool."""

    priority: int
    weight: float = 1.0
    max_slots: int | None = None
    pool: PoolName | None = None
    max_trials: int | None = None


class Queue:
    """The request groups of one pool."""

    def __init__(self) -> None:
        self.lines: dict[tuple[ExperimentId, SlotNeeds], RequestGroup] = {}
        self.shapes: dict[SlotNeeds, int] = {}
        self._of: dict[TrialId, tuple[RequestGroup, Key]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[TrialId]:
        """Yield all waiting trials in submission order."""
        return (key[2] for _, key in sorted(self._of.values(), key=lambda entry: entry[1][:2]))

    def __contains__(self, trial: TrialId) -> bool:
        return trial in self._of

    def add(self, trial: Trial, leaf: ShareNode) -> None:
        """Add a waiting request of an experiment."""
        request = trial.request
        line = leaf.lines.get(request.needs)
        if line is None:
            line = self._open(trial, leaf)
        key = (trial.submission_order, milliseconds(trial.submitted_at or trial.since), request.trial)
        self._of[request.trial] = (line, key)
        if line.keys and trial.submission_order > line.keys[-1][0]:
            line.keys.append(key)
            return
        insort(line.keys, key)
        leaf.forget_first(trial.submission_order)

    def discard(self, trial: TrialId) -> None:
        found = self._of.pop(trial, None)
        if found is None:
            return
        line, key = found
        at = bisect_left(line.keys, key)
        del line.keys[at]
        if at == 0:
            line.leaf.forget_first(key[0])
        if not line.keys:
            del self.lines[line.leaf.path[3], line.needs]  # type: ignore[arg-type]
            del line.leaf.lines[line.needs]
            for node in line.leaf.upwards():
                node.count_line(line.bit, -1)

    def line_of(self, trial: TrialId) -> tuple[RequestGroup, Key]:
        return self._of[trial]

    def smaller(self, slots: SlotCount) -> int:
        """Return the mask of all shapes that need at most this many slots."""
        mask = 0
        for needs, bit in self.shapes.items():
            if needs.least <= slots:
                mask |= bit
        return mask

    def forget_shapes(self, beyond: int) -> None:
        """Drop all but the first `beyond` shapes; no request may be waiting with them."""
        while len(self.shapes) > beyond:
            self.shapes.popitem()

    def _open(self, trial: Trial, leaf: ShareNode) -> RequestGroup:
        request = trial.request
        bit = self.shapes.setdefault(request.needs, 1 << len(self.shapes))
        line = RequestGroup(leaf, request.needs, ask_of(request.tenant, request.needs), bit)
        leaf.lines[request.needs] = self.lines[request.experiment, request.needs] = line
        for node in leaf.upwards():
            node.count_line(bit, +1)
        return line


def ask_of(tenant: TenantId, needs: SlotNeeds) -> PlacementRequest:
    """Return what a request with these needs asks of the machines."""
    return PlacementRequest(tenant, needs.kind, needs.single_node, needs.fraction, needs.where)


def milliseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
