"""All runs on this machine: routes desired sets, verdicts and executor reports to the run concerned."""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import structlog

from muster import wire
from muster.errors import MusterError
from shared.ids import AllocationId
from shared.messages.allocations import DesiredAllocation, DesiredSet, ObservedAllocation
from shared.messages.experiments import TrialVerdict
from shared.messages.trial_specs import Signal
from shared.runtime.outages import Outages
from worker.core.desired_set import Sender, Workload, apply_desired, pass_gate
from worker.core.process_names import HOOK, RENDEZVOUS, part_of
from worker.core.run import reducers as core
from worker.core.run.actions import KillRanks, OpenRendezvous, StartRanks
from worker.core.run.plan import next_check
from worker.core.run.records import LocalRun
from worker.core.run.states import RunState
from worker.executors.warm_parents import WarmParents
from worker.ranks.server import same_token
from worker.ranks.session import RankSession
from worker.runs.actions import final_log_lines, resume
from worker.runs.context import RunContext, Tools
from worker.runs.final_uploads import Draining
from worker.runs.messages import observed_of, read_desired
from worker.runs.preparing.network import join_gang_network
from worker.runs.run_factory import ContextEvents, open_context
from worker.runs.supervisor import Supervisor
from worker.store.records import StoredRun
from worker.store.store import Store

END_S = 3.0
_SIGNALS = {"go_on": Signal.RUN, "stop": Signal.STOP, "pause": Signal.PAUSE}
_SIGKILL = 9
_LEFT = "processes that the trial left running were killed: {left}"
_TAKING = "accepting runs; the scheduler sends them again"
_log = structlog.get_logger()


class Runs:
    """Runs by allocation, and ended runs whose data is still being sent."""

    def __init__(self, tools: Tools, store: Store, on_change: Callable[[], None]) -> None:
        self._tools = tools
        self._store = store
        self._on_change = on_change
        self._gate = store.load_gate()
        self._contexts: dict[AllocationId, RunContext] = {}
        self._draining = Draining(tools, store, on_change)
        self._outages = Outages()
        self._starts_fail: Callable[[], str | None] = lambda: None
        self._supervisor = Supervisor(tools, store, on_change)
        self._supervisor.on_forgotten = self._forget
        self._events = ContextEvents(
            self._supervisor.on_acknowledged,
            lambda context: on_change(),
            self._supervisor.on_disk_fault,
            self._supervisor.on_generation_confirmed,
            self._supervisor.on_policies,
        )

    def attach(self, parents: WarmParents) -> None:
        """Connect runs to the warm parents; call it before `adopt`."""
        environments = self._tools.environments
        self._supervisor.send = parents.send
        self._supervisor.use_own = parents.use_own
        self._starts_fail = lambda: parents.trouble
        if environments.has_parents:
            self._supervisor.use = lambda run, name: parents.use(run, name, environments.interpreter(name))

    @property
    def epoch(self) -> int:
        """The highest epoch seen."""
        return self._gate.epoch

    @property
    def is_drained(self) -> bool:
        """Whether no run is left and the registry has all data."""
        return not self._contexts and not self._draining.contexts

    @property
    def workload(self) -> Workload:
        """Why the machine must stay: running runs and unsent data."""
        has_runs = any(not context.run.is_over for context in self._contexts.values())
        return Workload(has_runs, has_unsent=not self.is_drained)

    @property
    def images(self) -> set[str]:
        """The ids of the images of all runs that are here."""
        stored = (context.stored.image for context in self._contexts.values())
        return {image.id for image in stored if image is not None}

    @property
    def trouble(self) -> str | None:
        """Why a new run would wait for disk space (`prepare`) or could not start; None if it would start."""
        machine = self._tools.machine
        if not machine.has_free_space(self._tools.min_free_bytes):
            return machine.full_text
        if machine.networks and machine.networks.failure:
            return f"worker {machine.worker} cannot prepare networks for runs: {machine.networks.failure}"
        starts = self._starts_fail()
        return starts and f"worker {machine.worker} cannot start processes: {starts}"

    def adopt(self) -> None:
        """Take over the runs of an earlier daemon; the executor then reports their processes."""
        runs = tuple(self._store.load_runs())
        known = [stored.run.run_id for stored in runs]
        self._tools.machine.cgroups.sweep(known)
        if networks := self._tools.machine.networks:
            networks.sweep(known)
        for stored in runs:
            context = open_context(stored, self._tools, self._events)
            context.start(self._supervisor.follow(context), "tail")
            if stored.environment:
                self._supervisor.enter(context, stored.environment)
            if stored.run.is_over:
                self._supervisor.end_sandbox(context)
            elif stored.run.state is not RunState.PREPARING:
                self._supervisor.open_sandbox(context)
            if stored.run.is_over:
                context.tail.end(final_log_lines(stored))
                context.media.finish()
            if stored.run.state is RunState.FORGOTTEN:
                self._draining.add(context)
                continue
            self._contexts[stored.run.allocation_id] = context
            context.start(self._supervisor.bound(context), "room")
            if stored.run.state is RunState.PREPARING:
                context.start(self._supervisor.prepare(context), "prepare")
            _log.info("a run was adopted", run=str(stored.run.run_id), state=str(stored.run.state))

    def find_session(self, token: str) -> RankSession | None:
        """Return the session for a rank's token."""
        for context in self._contexts.values():
            if not context.run.is_over and same_token(context.stored.token, token):
                return context.session
        return None

    def apply(self, desired: DesiredSet, key: str) -> None:
        """Apply a desired set that `key` signed.

        Raises:
            Rejected: It does not pass the gate (see `pass_gate`), or an allocation does not name this worker.
        """
        sender = Sender(desired.epoch, desired.sequence, desired.leader_since, key)
        gate = pass_gate(self._gate, sender, self._tools.clock.now())
        self._store.save_gate(gate, is_new_epoch=gate.epoch != self._gate.epoch)
        self._gate = gate
        runs = {allocation_id: context.run for allocation_id, context in self._contexts.items()}
        applied = apply_desired(runs, read_desired(desired), self._tools.worker)
        allocations = {allocation.allocation_id: allocation for allocation in desired.allocations}
        for allocation in desired.allocations:
            self._take_members(allocation)
        for run in applied.changed:
            self._supervisor.update(self._contexts[run.allocation_id], run)
        for run in applied.new:
            self._begin(run, allocations[run.allocation_id])
        for allocation in desired.allocations:
            if allocation.hangs and (context := self._contexts.get(allocation.allocation_id)):
                self._supervisor.end_hung(context)

    def on_verdict(self, verdict: TrialVerdict) -> None:
        """Apply a verdict of the fast path: the rank is waiting for it."""
        for context in self._contexts.values():
            if context.run.run_id == verdict.run_id and not context.run.is_over:
                signal = _SIGNALS[verdict.verdict]
                decided = core.on_verdict(context.run, signal, verdict.next_decide_at)
                asked = str(decided.asked)
                context.session.decide(verdict.validation, asked, verdict.next_decide_at)
                self._supervisor.update(context, decided)
                return

    def on_process(self, process: wire.ProcessFrame) -> None:
        """Apply an executor's report of a process: at its start, at its exit, and again after each reconnection."""
        context = self._find(process.run)
        if context is None:
            if process.exit_code is not None:
                self._supervisor.send(wire.Forget(process.run))
            return
        if process.left:
            context.tail.warn_rate_limited(_LEFT.format(left=process.left))
        if part_of(process.name) == HOOK:
            context.hook.on_process(process)
            return
        context.started[process.name] = process.pid
        if part_of(process.name) == RENDEZVOUS:
            self._supervisor.on_rendezvous(context, process)
        else:
            self._supervisor.on_rank(context, process)

    def on_parent_ready(self, parent: str) -> None:
        """Handle runs whose parent, identified by its name, has reported all living processes: missing ones were never started, or died with an earlier parent."""
        for context in list(self._contexts.values()):
            run = context.run
            if run.is_over or run.state is RunState.PREPARING or context.stored.parent != parent:
                continue
            missing = run.has_launched and not any(part_of(name) != RENDEZVOUS for name in context.started)
            if missing and run.state is RunState.STARTING:
                self._supervisor.act(context, StartRanks())
            elif missing:
                self._supervisor.update(context, core.on_parent_lost(run))
            elif _waits_for_parent(run):
                self._supervisor.act(context, OpenRendezvous())
            else:
                if run.state is RunState.KILLING:
                    # The previous daemon may have died between persisting this state and sending the signal.
                    self._supervisor.act(context, KillRanks())
                resume(context, self._supervisor.send)
                self._supervisor.update(context, run)

    def fail_all(self, reason: str) -> None:
        """End every run on this machine, without charging its user."""
        for context in list(self._contexts.values()):
            self._supervisor.update(context, core.on_fault(context.run, reason))

    def tick(self) -> float | None:
        """Run time-based actions and retry failed writes; return when to call again (monotonic seconds)."""
        looks = []
        self._store.settle()
        self._supervisor.tick()
        for context in list(self._contexts.values()):
            self._supervisor.look(context)
            self._supervisor.update(context, context.run)
            look = next_check(context.run)
            if look is not None:
                looks.append(look)
        return min(looks, default=None)

    def observed(self) -> tuple[ObservedAllocation, ...]:
        """Return the observed state for the scheduler."""
        return tuple(observed_of(context) for context in self._contexts.values())

    def warn(self, text: str) -> None:
        """Write a warning to the log of each run."""
        for context in self._contexts.values():
            if not context.run.is_over:
                context.tail.warn(text)

    async def end(self, reason: str) -> None:
        """End every run and wait briefly until all have ended."""
        self.fail_all(reason)
        async with asyncio.timeout(END_S):
            while True:
                if all(context.run.is_over for context in self._contexts.values()):
                    return
                await asyncio.sleep(0.02)

    async def close(self) -> None:
        """Close every context and keep its files."""
        for context in (*self._contexts.values(), *self._draining.contexts):
            await context.close()

    def _begin(self, run: LocalRun, allocation: DesiredAllocation) -> None:
        if self._draining.has(run.run_id):
            return  # its earlier data is still being sent; the scheduler sends the run again
        stored = StoredRun(run=run, allocation=allocation, token=secrets.token_hex(16))
        try:
            self._store.begin_run(stored)
            context = open_context(stored, self._tools, self._events)
        except OSError as error:
            # A run without a record does not exist here: the scheduler sends it again.
            self._outages.failed(_TAKING, self._tools.machine.describe_disk_error(error))
            return
        self._outages.worked(_TAKING)
        self._contexts[run.allocation_id] = context
        context.start(context.tail.run(), "tail")
        context.start(self._supervisor.bound(context), "room")
        context.start(self._supervisor.prepare(context), "prepare")
        self._supervisor.update(context, run)

    def _take_members(self, allocation: DesiredAllocation) -> None:
        context = self._contexts.get(allocation.allocation_id)
        if context is not None and allocation.generation > context.stored.allocation.generation:
            changed = {"members": allocation.members, "generation": allocation.generation}
            stored = context.stored.allocation.model_copy(update=changed)
            context.stored = replace(context.stored, allocation=stored)
            try:
                join_gang_network(context)
            except MusterError as error:
                self._supervisor.update(context, core.on_fault(context.run, str(error)))

    def _forget(self, context: RunContext) -> None:
        """Mark the run as forgotten and send its remaining data."""
        context.stored = replace(context.stored, run=core.on_forgotten(context.run))
        with suppress(OSError):
            self._store.save_run(context.stored)
        self._contexts.pop(context.run.allocation_id, None)
        self._draining.add(context)

    def _find(self, run_id: str) -> RunContext | None:
        contexts: Iterable[RunContext] = self._contexts.values()
        return next((context for context in contexts if str(context.run.run_id) == run_id), None)


def _waits_for_parent(run: LocalRun) -> bool:
    """Whether the run had only its rendezvous requested from a warm parent that died."""
    gang = run.gang
    return run.state is RunState.RENDEZVOUS and gang.rendezvous_asked and gang.rendezvous is None
