"""The supervisor of all runs here: events go through the pure core, what it plans is carried out, what must last is kept first."""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress

import structlog

from muster import wire
from muster.errors import MusterError
from shared import telemetry
from shared.ids import AllocationId
from shared.messages.experiments import Verdict
from shared.messages.runs import DesiredAllocation, DesiredSet, ObservedAllocation
from shared.messages.specs import Signal
from worker.context import ContextEvents, RunContext, Tools, open_context
from worker.core import run as core
from worker.core.fleet import Gate, apply_desired, pass_gate
from worker.core.plan import Action, Forget, KillRanks, OpenRendezvous, StartRanks, Tell, next_look, plan
from worker.core.run import LocalRun
from worker.core.state import RunState, Trigger
from worker.launch import RENDEZVOUS, part_of, rank_frames, rendezvous_frame
from worker.parent import ParentLink
from worker.prepare import prepare
from worker.ranks.server import same_token
from worker.ranks.session import RankSession
from worker.store import KeptRun, Store

DRAIN_CHECK_S = 0.5
END_S = 3.0
_SIGNALS = {"go_on": Signal.RUN, "stop": Signal.STOP, "pause": Signal.PAUSE}
_SIGKILL = 9
_log = structlog.get_logger()


class Runs:
    """Runs by allocation, and those that are over but not yet drained."""

    def __init__(self, tools: Tools, store: Store, on_change: Callable[[], None]) -> None:
        self._tools = tools
        self._store = store
        self._on_change = on_change
        self._gate = Gate(store.load_epoch())
        self._contexts: dict[AllocationId, RunContext] = {}
        self._draining: set[RunContext] = set()
        self._events = ContextEvents(self._on_acknowledged, self._on_progress, self._on_disk_fault)
        self.parent: ParentLink | None = None

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return self._gate.epoch

    @property
    def is_drained(self) -> bool:
        """Whether nothing runs here and the registry has everything."""
        return not self._contexts and not self._draining

    def adopt(self) -> None:
        """Take over what an earlier daemon left; the warm parent then says which processes live."""
        for kept in self._store.load_runs():
            context = open_context(kept, self._tools, self._events)
            context.start(context.tail.run(), "tail")
            if kept.run.is_over:
                context.tail.end(_last_words(kept))
            if kept.forgotten:
                self._drain(context)
                continue
            self._contexts[kept.run.allocation_id] = context
            if kept.run.state is RunState.FETCHING:
                context.start(self._prepare(context), "prepare")
            _log.info("a run was adopted", run=str(kept.run.run_id), state=str(kept.run.state))

    def find_session(self, token: str) -> RankSession | None:
        """The session of a rank's token."""
        for context in self._contexts.values():
            if not context.run.is_over and same_token(context.kept.token, token):
                return context.session
        return None

    def apply(self, desired: DesiredSet) -> bool:
        """Apply a desired set; False when it comes from a deposed leader or is older than one applied before."""
        gate = pass_gate(self._gate, desired.epoch, desired.sequence)
        if gate is None:
            _log.warning("a desired set was refused", epoch=desired.epoch, known=self._gate.epoch)
            return False
        if gate.epoch != self._gate.epoch:
            self._store.save_epoch(gate.epoch)
        self._gate = gate
        runs = {allocation_id: context.run for allocation_id, context in self._contexts.items()}
        applied = apply_desired(runs, desired, self._tools.worker)
        for run in applied.changed:
            self._update(self._contexts[run.allocation_id], run)
        for run, allocation in applied.new:
            self._begin(run, allocation)
        return True

    def on_verdict(self, verdict: Verdict) -> None:
        """The fast path: the rank waits for this very message."""
        for context in self._contexts.values():
            if context.run.run_id == verdict.run_id and not context.run.is_over:
                signal = _SIGNALS[verdict.verdict]
                decided = core.on_verdict(context.run, signal, verdict.next_decide_at)
                asked = str(decided.asked)
                context.session.decide(verdict.validation, asked, verdict.next_decide_at)
                self._update(context, decided)
                return

    def on_process(self, process: wire.Process) -> None:
        """The warm parent told of a process: at its start, at its end, and once more after each reconnection."""
        context = self._find(process.run)
        if context is None:
            if process.exit_code is not None and self.parent is not None:
                self.parent.send(wire.Forget(process.run))
            return
        context.started.add(process.name)
        if part_of(process.name) == RENDEZVOUS:
            self._on_rendezvous(context, process)
        else:
            self._on_rank(context, process)

    def on_parent_ready(self) -> None:
        """All living processes were told: what is missing was never started, or died with an earlier parent."""
        for context in list(self._contexts.values()):
            run = context.run
            if run.is_over or run.state is RunState.FETCHING:
                continue
            missing = run.ranks_asked and not any(part_of(name) != RENDEZVOUS for name in context.started)
            if missing and run.state is RunState.STARTING:
                self._act(context, StartRanks())
            elif missing:
                self._update(context, core.on_parent_lost(run))
            elif run.rendezvous_asked and not run.ranks_asked and run.rendezvous is None:
                self._act(context, OpenRendezvous())
            else:
                self._update(context, run)

    def doom(self, reason: str) -> None:
        """End every run here, at no cost to its user."""
        for context in list(self._contexts.values()):
            self._update(context, core.on_doomed(context.run, reason))

    def tick(self) -> float | None:
        """Do what time alone asks for; return when to look again (monotonic seconds)."""
        looks = []
        for context in list(self._contexts.values()):
            self._update(context, context.run)
            look = next_look(context.run)
            if look is not None:
                looks.append(look)
        return min(looks, default=None)

    def observed(self) -> tuple[ObservedAllocation, ...]:
        """What is here, for the scheduler."""
        return tuple(_observed(context) for context in self._contexts.values())

    async def end(self, reason: str) -> None:
        """End every run here and wait shortly until all have ended."""
        self.doom(reason)
        async with asyncio.timeout(END_S):
            while True:
                if all(context.run.is_over for context in self._contexts.values()):
                    return
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Close every context; its files stay."""
        for context in (*self._contexts.values(), *self._draining):
            await context.close()

    def _begin(self, run: LocalRun, allocation: DesiredAllocation) -> None:
        kept = KeptRun(run=run, allocation=allocation, token=secrets.token_hex(16))
        try:
            self._store.save_run(kept)
            context = open_context(kept, self._tools, self._events)
        except OSError as error:
            # Without a record it does not exist here: the scheduler sends it again, or elsewhere.
            _log.error("a run could not be taken", run=str(run.run_id), error=str(error))
            return
        self._contexts[run.allocation_id] = context
        context.start(context.tail.run(), "tail")
        context.start(self._prepare(context), "prepare")
        self._update(context, run)

    async def _prepare(self, context: RunContext) -> None:
        """Fetch, then go on; it may have been ended meanwhile."""
        try:
            await prepare(context)
        except (MusterError, OSError) as error:
            fault: core.Fault = "user" if isinstance(error, MusterError) else "machine"
            context.tail.say(f"the run could not be prepared: {error}", "error")
            self._update(context, core.on_failed(context.run, Trigger.FETCH_FAILED, fault, str(error)))
            return
        self._update(context, core.on_fetched(context.run))

    def _update(self, context: RunContext, run: LocalRun) -> None:
        """Move a run on: plan, keep, act."""
        before = context.run
        after, actions = plan(run, self._tools.clock.monotonic())
        if after.decide_at != before.decide_at and after.decide_at != context.session.decide_at:
            context.session.decide(0, str(after.asked), after.decide_at)
        if after == before and not actions:
            return
        context.kept = context.kept.model_copy(update={"run": after})
        if after.is_over and not before.is_over:
            self._conclude(context)
        self._keep(context)
        for action in actions:
            self._act(context, action)
        self._on_change()

    def _keep(self, context: RunContext) -> None:
        try:
            self._store.save_run(context.kept)
        except OSError as error:
            _log.error("a run's record could not be kept", run=str(context.run.run_id), error=str(error))
            if not context.run.is_over:
                self._on_disk_fault(context, error)

    def _act(self, context: RunContext, action: Action) -> None:
        run, allocation = context.run, context.kept.allocation
        machine = self._tools.machine
        assert self.parent is not None
        match action:
            case OpenRendezvous():
                self.parent.send(rendezvous_frame(run, allocation, machine))
            case StartRanks():
                with telemetry.span(
                    "start ranks", parent=context.trace, run=run.run_id, slots=run.seat.ranks
                ):
                    for frame in rank_frames(run, allocation, context.places, machine, context.kept.token):
                        self.parent.send(frame)
            case Tell():
                context.session.tell(str(action.signal))
            case KillRanks():
                self.parent.send(wire.Kill(str(run.run_id), _SIGKILL))
            case Forget():
                self._forget(context)

    def _on_rendezvous(self, context: RunContext, process: wire.Process) -> None:
        run = context.run
        if run.is_over or run.rendezvous is not None:
            return
        if process.port and process.exit_code is None:
            self._update(context, core.on_rendezvous(run, f"{self._tools.machine.address}:{process.port}"))
        elif run.state is RunState.STARTING:
            reason = f"Horovod's rendezvous could not be opened: {process.error or 'it ended'}"
            self._update(context, core.on_failed(run, Trigger.START_FAILED, "machine", reason))

    def _on_rank(self, context: RunContext, process: wire.Process) -> None:
        run = context.run
        if run.is_over:
            return
        ranks = sum(part_of(name) != RENDEZVOUS for name in context.started)
        if run.state is RunState.STARTING and ranks == run.seat.ranks:
            self._update(context, core.on_started(run))
        if process.exit_code is None:
            return
        rank = context.run.seat.first_rank + int(part_of(process.name))
        if rank == 0:
            context.session.finish(context.places.unsent)
        if process.error:
            self._update(context, core.on_doomed(context.run, process.error))
        ended = core.on_exit(context.run, rank, process.exit_code, self._tools.clock.monotonic())
        self._update(context, ended)

    def _conclude(self, context: RunContext) -> None:
        """It has ended here: the last lines, the last reports, no process left."""
        run = context.run
        context.session.finish(context.places.unsent)
        context.tail.end(_last_words(context.kept))
        context.report_source.wake(urgent=True)
        context.log_source.wake(urgent=True)
        if self.parent is not None:
            self.parent.send(wire.Kill(str(run.run_id), _SIGKILL))
            self.parent.send(wire.Forget(str(run.run_id)))
        _log.info("a run ended", run=str(run.run_id), exit_code=run.exit_code, reason=run.reason)

    def _forget(self, context: RunContext) -> None:
        """The scheduler knows of its end: what is left is to be sent."""
        context.kept = context.kept.model_copy(update={"forgotten": True})
        with suppress(OSError):
            self._store.save_run(context.kept)
        self._contexts.pop(context.run.allocation_id, None)
        self._drain(context)

    def _drain(self, context: RunContext) -> None:
        self._draining.add(context)
        context.start(self._drop_when_drained(context), "drain")

    async def _drop_when_drained(self, context: RunContext) -> None:
        while True:
            if context.is_drained:
                break
            await asyncio.sleep(DRAIN_CHECK_S)
        self._draining.discard(context)
        run_id = context.run.run_id
        context.tasks.discard(asyncio.current_task())
        await context.close()
        self._store.drop_run(run_id)
        self._on_change()

    def _on_acknowledged(self, context: RunContext, signal: str) -> None:
        if signal in set(Signal) - {Signal.RUN} and not context.run.is_over:
            self._update(context, core.on_acknowledged(context.run, Signal(signal)))

    def _on_progress(self, context: RunContext) -> None:
        self._on_change()

    def _on_disk_fault(self, context: RunContext, error: OSError) -> None:
        reason = f"the worker cannot write to its disk: {error.strerror or error}"
        self._update(context, core.on_doomed(context.run, reason))

    def _find(self, run_id: str) -> RunContext | None:
        contexts: Iterable[RunContext] = self._contexts.values()
        return next((context for context in contexts if str(context.run.run_id) == run_id), None)


def _last_words(kept: KeptRun) -> tuple[str, ...]:
    return (f"run {kept.allocation.run_number}: {kept.run.reason}",) if kept.run.reason else ()


def _observed(context: RunContext) -> ObservedAllocation:
    run, session = context.run, context.session
    states = {RunState.FETCHING: "preparing", RunState.STARTING: "preparing", RunState.EXITED: "exited"}
    return ObservedAllocation(
        allocation_id=run.allocation_id,
        run_id=run.run_id,
        token=run.token,
        generation=run.generation,
        state=states.get(run.state, "running"),
        wanted=run.wanted,
        decide_at=run.decide_at,
        rendezvous=run.rendezvous if run.seat.is_chief else None,
        acknowledged=run.acknowledged,
        forced=run.forced,
        exit_code=run.exit_code,
        fault=run.fault,
        reason=run.reason,
        validations=session.validations,
        checkpoints=context.uploads.announced,
        step=session.step,
    )
