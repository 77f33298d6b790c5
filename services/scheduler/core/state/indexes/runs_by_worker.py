"""The runs on each worker, and the workers that changed since a plan last refreshed them."""

from collections.abc import Mapping

from services.scheduler.core.state.records.run import Run
from shared.ids import RunId, WorkerId

Touched = Mapping[int, RunId]
"""Changed runs on a worker, by token."""


class RunsByWorker:
    """The index. A run that has ended and released a worker is not listed there."""

    def __init__(self) -> None:
        self.runs_on: dict[WorkerId, dict[RunId, None]] = {}
        self._touched: dict[WorkerId, dict[int, RunId] | None] = {}

    def stand(self, before: Run | None, run: Run) -> bool:
        """Update the workers of a run. Return True if it has new shares to occupy."""
        name, gang, is_ended = run.grant.id, run.gang, run.is_ended
        has_new_shares = before is None or gang.shares is not before.gang.shares
        if not has_new_shares and not is_ended:
            return False
        if before is not None and has_new_shares:
            for left in [share.worker for share in before.gang.shares if share.worker not in run.workers]:
                self.runs_on.get(left, {}).pop(name, None)
                self.touch(left, run)
        for share in gang.shares:
            here = self.runs_on.get(share.worker)
            if here is None:
                here = self.runs_on[share.worker] = {}
            if is_ended and share.worker in gang.released:
                here.pop(name, None)
            else:
                here[name] = None
        return has_new_shares and not is_ended

    def touch(self, worker: WorkerId, run: Run) -> None:
        """Mark a run on a worker as changed."""
        touched = self._touched.setdefault(worker, {})
        if touched is not None:
            touched[run.grant.token] = run.grant.id

    def touch_all_of(self, worker: WorkerId) -> None:
        """Mark a whole worker as changed."""
        self._touched[worker] = None

    def take_touched(self) -> Mapping[WorkerId, Touched | None]:
        """Return the workers that changed since the last call with their changed runs; None: any may have changed."""
        touched, self._touched = self._touched, {}
        return touched
