"""Where runs stand, and the machines of which something has changed since a plan looked at them."""

from collections.abc import Mapping

from services.scheduler.core.state.records.run import Run
from shared.ids import RunId, WorkerId

Touched = Mapping[int, RunId]
"""Runs on a machine that have changed, by token."""


class RunsByWorker:
    """The index. What has ended, and let go of a machine, stands there no more."""

    def __init__(self) -> None:
        self.runs_on: dict[WorkerId, dict[RunId, None]] = {}
        self._touched: dict[WorkerId, dict[int, RunId] | None] = {}

    def stand(self, before: Run | None, run: Run) -> bool:
        """Keeps where a run stands. True: it has new shares, which are to be occupied."""
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
        """Something about this run on this machine has changed."""
        touched = self._touched.setdefault(worker, {})
        if touched is not None:
            touched[run.grant.token] = run.grant.id

    def touch_all_of(self, worker: WorkerId) -> None:
        """Anything on this machine may have changed."""
        self._touched[worker] = None

    def take_touched(self) -> Mapping[WorkerId, Touched | None]:
        """Machines that have changed since the last call, with the runs there that did; None: anything may have."""
        touched, self._touched = self._touched, {}
        return touched
