"""A worker and its machine: applies desired sets to its ranks and replies with observed sets.

A short mirror of `worker/core`: fencing by epoch, level-triggered desired sets, exits kept until they are
dropped, ranks that survive the daemon, and no rank ended for the scheduler's silence before `ORPHAN_AFTER_MS`.
`training` simulates what the ranks do together.
"""

from collections.abc import Callable
from dataclasses import dataclass

from services.scheduler.core.state.desired import DesiredRun
from services.scheduler.core.state.observed import Observed, ObservedState
from services.scheduler.core.state.records.run import Run, RunExit
from services.scheduler.core.state.records.worker import MachineId
from shared.ids import AllocationId, RunId, WorkerId
from shared.messages.trial_specs import Signal
from simulator.control.messages import DesiredSet, ObservedSet
from simulator.event_queue import Act, EventQueue
from simulator.machines.journal import Journal, JournaledReport
from simulator.machines.machine_slots import Kind, Local
from simulator.machines.registry import Refused, SimulatedRegistry, Unknown
from simulator.machines.training import Training
from simulator.observers.observer import Observer
from simulator.searching.messages import Verdict

ORPHAN_AFTER_MS = 1_800_000
KILL_MS = 50
RETRY_MS = 1000


@dataclass(slots=True)
class MachineLinks:
    """Connections that all machines share.

    Attributes:
        send: Sends an observed set to the leaders.
        reach_registry: Whether the registry can be reached from this machine now.
    """

    agenda: EventQueue
    training: Training
    registry: SimulatedRegistry
    watch: Observer
    send: Callable[[WorkerId, ObservedSet], None]
    reach_registry: Callable[[WorkerId], bool]


class Machine:
    """One machine with its daemon. Work pending when its power was cut does not continue.

    Args:
        beat_ms: Interval of heartbeats. None: nothing can be lost, so it reports only what the scheduler cannot
            know: rendezvous, checkpoints, exits.
    """

    def __init__(self, kind: Kind, ties: MachineLinks, beat_ms: int | None) -> None:
        self.kind = kind
        self.is_on = False
        self.local: dict[AllocationId, Local] = {}
        self._ties = ties
        self._beat_ms = beat_ms
        self._epoch = 0
        self._newest = -1
        self._answered_ms = 0
        self._incarnation = 0
        self._sequence = 0
        self._lives = 0
        self._unsent: dict[tuple[RunId, int], tuple[Run, float]] = {}
        self._journal = Journal(
            ties.registry, lambda: ties.reach_registry(kind.name), self._later, self._report
        )

    def switch_on(self) -> None:
        """Boot the machine and start its daemon; ranks of an earlier boot are lost."""
        self.is_on = True
        self._lives += 1
        self._answered_ms = self._ties.agenda.now_ms
        self.restart_daemon()
        self._journal.flush()
        for run_id, number in self._unsent:
            self._upload(run_id, number)
        if self._beat_ms is not None:
            self._beat_on(self._lives)

    def switch_off(self) -> None:
        """Cut the power; everything that ran here is lost."""
        self.is_on = False
        self._lives += 1
        for local in list(self.local.values()):
            if local.is_started and local.phase != "exited":
                self._ties.watch.on_stopped(self.kind.name, local.run, "power")
                self._ties.training.leave(local.run.allocation, self.kind.name)
        self.local.clear()

    def restart_daemon(self) -> None:
        """Restart the daemon in the same directory; it adopts the ranks."""
        self._incarnation += 1
        self._sequence, self._newest = 0, -1
        self._report()

    def acknowledged(self) -> None:
        """Record a reply of the scheduler."""
        self._answered_ms = self._ties.agenda.now_ms

    def obey(self, orders: DesiredSet, answer: Callable[[ObservedSet], None]) -> None:
        """Apply a desired set unless it comes from a deposed leader or is older than the last one applied;
        reply with the observed set."""
        if not self.is_on:
            return
        if orders.epoch > self._epoch or (orders.epoch == self._epoch and orders.sequence > self._newest):
            self._epoch, self._newest = orders.epoch, orders.sequence
            self._answered_ms = self._ties.agenda.now_ms
            self._apply(orders)
        if self._beat_ms is not None:
            answer(self._sighting(orders.sequence))

    def hear_verdict(self, verdict: Verdict) -> None:
        """Receive the searcher's verdict on a validation of ranks here."""
        if self.is_on and verdict.run.allocation in self.local:
            self._ties.training.judge(verdict)

    # --- callbacks of the training

    def on_exit(self, allocation: AllocationId, exited: RunExit) -> None:
        local = self.local.get(allocation)
        if local is not None and local.phase in ("running", "stopping"):
            self._finish(local, exited, "exit")

    def on_saved(self, allocation: AllocationId, run: Run, number: int, progress: float) -> None:
        self._unsent[run.id, number] = run, progress
        self._upload(run.id, number)

    def on_validated(self, run: Run, number: int, step: int) -> None:
        reports = self._ties.training.item_of(run).reports
        assert reports is not None
        self._journal.write(JournaledReport(run, number, step, reports.values(step)))

    # --- desired sets

    def _apply(self, orders: DesiredSet) -> None:
        named = set()
        for wanted in orders.allocations:
            named.add(wanted.run.allocation)
            local = self.local.get(wanted.run.allocation)
            if local is not None:
                self._change(local, wanted)
            elif wanted.needs_spec:
                self._begin(wanted)
        for allocation in [a for a in self.local if a not in named]:
            self._drop(self.local[allocation])

    def _begin(self, wanted: DesiredRun) -> None:
        run = wanted.run
        slot_ids = next(share.slot_ids for share in run.shares if share.worker == self.kind.name)
        local = Local(run, slot_ids, Signal.RUN, wanted.trial.request.decide_at)
        self.local[run.allocation] = local
        self._later(self._ties.training.launch_ms(run), lambda: self._fetched(local))
        self._change(local, wanted)

    def _change(self, local: Local, wanted: DesiredRun) -> None:
        local.is_dropped = False
        decide_at = wanted.trial.request.decide_at
        is_new = wanted.signal is not local.signal or decide_at != local.decide_at
        local.decide_at = decide_at
        local.signal = wanted.signal
        if wanted.run.gang.rendezvous is not None and wanted.run.chief != self.kind.name:
            local.rendezvous = wanted.run.gang.rendezvous
        if local.phase == "exited":
            return
        if local.signal is Signal.KILL:
            self._kill(local, RunExit(exit_code=-9, forced=True), "wanted")
        elif local.phase == "preparing" or local.phase == "ready":
            if local.signal is not Signal.RUN:
                self._finish(local, RunExit(acknowledged=local.signal), "wanted")
            elif local.phase == "ready":
                self._start_when_met(local)
        elif is_new:
            self._ties.training.signal(wanted.run, self.kind.name, local.signal, decide_at)

    def _drop(self, local: Local) -> None:
        local.is_dropped = True
        if local.phase == "exited":
            del self.local[local.run.allocation]
        else:
            self._kill(local, RunExit(exit_code=-9, forced=True), "dropped")

    # --- the life of ranks

    def _fetched(self, local: Local) -> None:
        if local.phase != "preparing":
            return
        if self.kind.name == local.run.chief:
            try:
                if not self._ties.reach_registry(self.kind.name):
                    raise Unknown
                restored = self._ties.registry.restore(local.run)
            except Unknown:
                self._later(RETRY_MS, lambda: self._fetched(local))
                return
            if restored is Refused:
                refused = RunExit(exit_code=None, is_machine_fault=True, reason="the restore was refused")
                self._finish(local, refused, "refused")
                return
            local.progress = max(restored, self._ties.training.item_of(local.run).begins_at)
            local.rendezvous = f"{self.kind.name}:{local.run.token}"
        local.phase = "ready"
        self._start_when_met(local)
        if len(local.run.shares) > 1:
            self._report()

    def _start_when_met(self, local: Local) -> None:
        """Start the ranks once they know the rendezvous."""
        if local.rendezvous is None and len(local.run.shares) > 1:
            return
        local.phase, local.is_started = "running", True
        self._ties.watch.on_started(self.kind.name, local.run, local.slot_ids)
        self._ties.training.join(local.run, self.kind.name, self, local.progress, local.decide_at)
        if self._beat_ms is not None:
            self._report()

    def _kill(self, local: Local, exited: RunExit, cause: str) -> None:
        if local.phase == "stopping":
            return
        local.phase = "stopping"
        if local.is_started:
            self._ties.training.leave(local.run.allocation, self.kind.name)
        self._later(KILL_MS if local.is_started else 0, lambda: self._finish(local, exited, cause))

    def _finish(self, local: Local, exited: RunExit, cause: str) -> None:
        if local.phase == "exited" or self.local.get(local.run.allocation) is not local:
            return
        local.phase, local.exit = "exited", exited
        if local.is_started or cause == "orphaned":
            self._ties.watch.on_stopped(self.kind.name, local.run, cause)
        if local.is_dropped:
            del self.local[local.run.allocation]
        self._report()

    def _upload(self, run_id: RunId, number: int) -> None:
        """Send a checkpoint; checkpoints on disk are also sent after a power cut."""
        run, progress = self._unsent[run_id, number]
        upload_ms = self._ties.training.item_of(run).upload_ms
        self._later(upload_ms, lambda: self._commit(run, number, progress))

    def _commit(self, run: Run, number: int, progress: float) -> None:
        try:
            if not self._ties.reach_registry(self.kind.name):
                raise Unknown
            self._ties.registry.commit(run, number, progress)
        except Unknown:
            self._later(RETRY_MS, lambda: self._commit(run, number, progress))
            return
        self._unsent.pop((run.id, number), None)
        if not self._unsent:
            self._report()

    # --- reporting

    def _beat_on(self, life: int) -> None:
        if life != self._lives or self._beat_ms is None:
            return
        if self._ties.agenda.now_ms - self._answered_ms >= ORPHAN_AFTER_MS:
            for local in list(self.local.values()):
                if local.phase != "exited":
                    orphaned = RunExit(
                        exit_code=None, is_machine_fault=True, reason="the scheduler was silent"
                    )
                    self._kill(local, orphaned, "orphaned")
        self._report()
        # Independent of replies: one lost heartbeat must not cost the lease.
        self._ties.agenda.after(self._beat_ms, lambda: self._beat_on(life))

    def _report(self) -> None:
        if self.is_on:
            self._ties.send(self.kind.name, self._sighting())

    def _sighting(self, answers: int | None = None) -> ObservedSet:
        self._sequence += 1
        allocations = tuple(self._observed(local) for local in self.local.values())
        state = ObservedState(
            worker=self.kind.name,
            pool=self.kind.pool,
            kind=self.kind.slot_kind,
            slot_ids=tuple(range(self.kind.slots)),
            labels=self.kind.labels,
            machine=MachineId(self.kind.host) if self.kind.host else None,
            is_empty=not (self._unsent or self._journal)
            and all(local.phase == "exited" for local in self.local.values()),
            allocations=allocations,
        )
        return ObservedSet(state, self._incarnation, self._sequence, answers)

    def _observed(self, local: Local) -> Observed:
        run = local.run
        attempt = self._ties.training.attempt(run.allocation)
        return Observed(
            allocation=run.allocation,
            run=run.id,
            token=run.token,
            generation=run.gang.generation,
            state="exited" if local.exit else "running" if local.phase == "running" else "preparing",
            signal=local.signal,
            decide_at=local.decide_at,
            rendezvous=local.rendezvous if self.kind.name == run.chief else None,
            step=attempt.step if attempt else 0,
            checkpoints=attempt.checkpoints if attempt else 0,
            exit=local.exit,
        )

    def _later(self, delay_ms: int, act: Act) -> None:
        """Run a callback after a delay, unless the power is cut before."""
        life = self._lives
        self._ties.agenda.after(delay_ms, lambda: act() if life == self._lives else None)
