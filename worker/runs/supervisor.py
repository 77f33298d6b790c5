"""Moves one run: an event passes the pure core, the resulting plan is persisted, then executed. Neighbour: `run_table` holds all runs."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

import structlog

from muster import wire
from muster.errors import MusterError
from shared.messages.trial_specs import PolicyMatch, Signal
from shared.runtime import faults
from worker.core.faults import CausedByTrial
from worker.core.gang.assignment import FormationStep
from worker.core.hang import GANG_HANGS, TERM_GRACE_S
from worker.core.process_names import RENDEZVOUS, part_of, process_name
from worker.core.run import reducers as core, resize
from worker.core.run.actions import (
    Action,
    CloseRendezvous,
    Conclude,
    Decide,
    Forget,
    KillRanks,
    OpenRendezvous,
    SendAssignments,
    SendSignal,
    StartRanks,
    StartStandbyRanks,
)
from worker.core.run.plan import plan_step
from worker.core.run.records import Fault, LocalRun
from worker.core.run.states import RunState, Trigger
from worker.executors.interface import Order
from worker.executors.run_sandbox import RunSandbox
from worker.machine.disk_space import DiskSpace
from worker.machine.oom_kills import MemoryKills
from worker.ranks.launch.gang_addresses import own_address
from worker.ranks.launch.start_frames import hook_frame
from worker.runs import actions
from worker.runs.context import RunContext, Tools
from worker.runs.exits import cause_of
from worker.runs.preparing.hooks import SCRIPT, has_hook, run_hook
from worker.runs.preparing.network import enter_network
from worker.runs.preparing.prepare import NEEDS_IMAGE, NeedsImage, prepare
from worker.store.store import Store
from worker.transfer.disk_usage import watch_limit

AFTER_KEEP = faults.register("worker.after_keep")
KEEP_AGAIN_S = 0.5
MAX_QUOTED = 200
"""Length of the quoted line in the warning about a matched log policy."""
_SIGTERM = 15
_log = structlog.get_logger()


class Supervisor:
    """Moves runs. `send` reaches the warm parent; `on_forgotten` gets each run that the scheduler no longer lists."""

    def __init__(self, tools: Tools, store: Store, on_change: Callable[[], None]) -> None:
        self._tools = tools
        self._store = store
        self._on_change = on_change
        self._kills = MemoryKills()
        self._space = DiskSpace(tools.machine.disk)
        self.send: Callable[[Order], None] = _nobody
        self.use: Callable[[str, str], None] = lambda run, environment: None
        self.use_own: Callable[[str, RunSandbox], None] = lambda run, sandbox: None
        self.on_forgotten: Callable[[RunContext], None] = _nobody

    def update(self, context: RunContext, run: LocalRun) -> None:
        """Apply an event that changed the run into `run`: plan, persist, act."""
        step = plan_step(context.run, run, self._tools.clock.monotonic())
        if step.run == context.run and not step.after:
            return
        context.stored = replace(context.stored, run=step.run)
        for action in step.first:
            self.act(context, action)
        self._keep(context)
        faults.point(AFTER_KEEP)
        for action in step.after:
            self.act(context, action)
        self._on_change()

    def act(self, context: RunContext, action: Action) -> None:
        """Execute a planned action."""
        match action:
            case Decide():
                actions.decide(context, action.signal, action.decide_at)
            case Conclude():
                actions.conclude(context, self.send)
            case OpenRendezvous():
                actions.open_rendezvous(context, self.send)
            case StartRanks() | StartStandbyRanks() if not context.secrets.are_known:
                context.start(self._act_with_secrets(context, action), "secrets")
            case StartRanks():
                actions.start_ranks(context, self.send)
            case StartStandbyRanks():
                actions.start_standby_ranks(context, action.first, self.send)
            case SendAssignments():
                actions.send_assignments(context)
            case CloseRendezvous():
                actions.close_rendezvous(context, self.send)
            case SendSignal():
                context.session.send_signal(str(action.signal))
            case KillRanks():
                actions.kill_ranks(context, self.send)
            case Forget():
                self.on_forgotten(context)
            case _:
                assert_never(action)

    async def prepare(self, context: RunContext) -> None:
        """Prepare a run, which may end meanwhile. Only what the trial has caused is charged to the user."""
        try:
            await enter_network(context)
            await prepare(context, self.enter)
            self.open_sandbox(context)
            actions.limit_resources(context)
            await self._run_hook(context)
        except (MusterError, OSError) as error:
            fault: Fault = "user" if isinstance(error, CausedByTrial) else "machine"
            context.tail.log(f"the run could not be prepared: {error}", "error")
            if isinstance(error, NeedsImage):
                excluded = PolicyMatch(name=NEEDS_IMAGE, action="exclude_node")
                self.update(context, core.on_policies(context.run, (excluded,)))
            self.update(context, core.on_failed(context.run, Trigger.PREPARATION_FAILED, fault, str(error)))
            return
        self.update(context, core.on_prepared(context.run))

    async def follow(self, context: RunContext) -> None:
        """Follow the output of a run of an earlier daemon, once its secrets can be hidden."""
        await context.secrets.load_again()
        if context.secrets.refusal:
            context.tail.warn(
                f"the worker was restarted and did not get the run's secrets again ({context.secrets.refusal}); output that it had not read yet is hidden"
            )
        await context.tail.run()

    async def _act_with_secrets(self, context: RunContext, action: StartRanks | StartStandbyRanks) -> None:
        """Start ranks after a restart of the daemon, once the run's secrets are known."""
        await context.secrets.settled()
        run, refusal = context.run, context.secrets.refusal
        if run.is_over:
            return
        if refusal is None:
            self.act(context, action)
        elif run.state is RunState.STARTING:
            self.update(context, core.on_failed(run, Trigger.START_FAILED, "user", refusal))
        else:
            self.update(context, core.on_fault(run, refusal, "user"))

    def enter(self, context: RunContext, environment: str) -> None:
        """Run all processes of a run in its own Python environment."""
        context.stored = replace(context.stored, environment=environment)
        self.use(str(context.run.run_id), environment)

    def open_sandbox(self, context: RunContext) -> None:
        """Start the warm parent of a run in a container, or connect to it."""
        if (sandbox := self._sandbox_of(context)) is not None and not context.run.is_over:
            self.use_own(str(context.run.run_id), sandbox)

    def end_sandbox(self, context: RunContext) -> None:
        """Remove the container of a run that had ended before this daemon started: the last one may have died before."""
        if (sandbox := self._sandbox_of(context)) is not None:
            context.start(asyncio.to_thread(sandbox.end), "end sandbox")

    def _sandbox_of(self, context: RunContext) -> RunSandbox | None:
        image, tools = context.stored.image, self._tools
        if image is None or tools.containers.engine is None:
            return None
        return tools.containers.container(context.stored, image, context.paths, context.machine)

    def on_rendezvous(self, context: RunContext, process: wire.ProcessFrame) -> None:
        """Handle the start or the end of the rendezvous."""
        run = context.run
        if run.is_over or run.gang.rendezvous is not None or process.name != _rendezvous_name(run):
            return
        if process.port and process.exit_code is None:
            address = own_address(run, context.stored.allocation, self._tools.machine)
            self.update(context, core.on_rendezvous(run, f"{address}:{process.port}"))
        elif run.state in (RunState.RENDEZVOUS, RunState.STARTING):
            why = process.error or process.trial_error or "its process ended"
            # Only processes of the trial can kill it.
            is_trials = not process.error and (process.trial_error or (process.exit_code or 0) < 0)
            reason = f"the gang's rendezvous could not be opened: {why}"
            self.update(
                context, core.on_failed(run, Trigger.START_FAILED, "user" if is_trials else "machine", reason)
            )

    def on_rank(self, context: RunContext, process: wire.ProcessFrame) -> None:
        """Handle the start or the exit of a rank."""
        run = context.run
        if run.is_over:
            return
        if process.name in run.ranks.leaving:
            if process.exit_code is not None:
                self.update(context, resize.on_left(run, process.name))
            return
        started = sum(part_of(name) != RENDEZVOUS for name in context.started)
        if run.state in (RunState.RENDEZVOUS, RunState.STARTING) and started == run.gang.assignment.ranks:
            self.update(context, core.on_started(run))
        if process.exit_code is not None:
            self._on_exit(context, process, process.exit_code)

    def _on_exit(self, context: RunContext, process: wire.ProcessFrame, code: int) -> None:
        if not context.secrets.is_settled:
            # The error in the output may contain a secret, and a run that has ended gets none to hide it.
            context.start(self._look_again(context, process), "end of a rank")
            return
        first = context.run.gang.assignment.first_rank
        rank = first + int(part_of(process.name))
        if rank == first and not self._has_stored_all(context, process):
            return
        context.tail.look_ahead(rank)
        cause = cause_of(context, process, rank, self._kills, self._space)
        self.update(context, core.on_exit(context.run, rank, code, self._tools.clock.monotonic(), cause))

    def on_acknowledged(self, context: RunContext, signal: str) -> None:
        """Record that user code received the request to stop."""
        if signal in set(Signal) - {Signal.RUN} and not context.run.is_over:
            self.update(context, core.on_acknowledged(context.run, Signal(signal)))

    def on_generation_confirmed(self, context: RunContext, local: int, generation: int) -> None:
        """Record the generation that a rank confirmed, and resend an assignment that it may have missed."""
        if context.run.is_over:
            return
        self.update(context, resize.on_generation_confirmed(context.run, local, generation))
        formation = context.run.gang.formation
        is_notified = formation is not None and formation.step is FormationStep.NOTIFIED
        is_behind = formation is not None and generation < formation.generation
        if (is_notified and is_behind) or local >= context.run.local_ranks:
            actions.send_assignment(context, local)

    def on_disk_fault(self, context: RunContext, error: OSError) -> None:
        """Handle a failed write: wait for a full disk, and end the run for a broken one."""
        message = self._tools.machine.describe_disk_error(error)
        if wire.is_disk_full(error):
            context.tail.warn_rate_limited(f"{message}; the trial's reports wait in memory")
        else:
            self.update(context, core.on_fault(context.run, message))

    async def bound(self, context: RunContext) -> None:
        """End a run that exceeds its disk space limit."""
        limit_bytes = self._tools.machine.run_bytes
        if limit_bytes is not None:
            account = context.account if context.machine.sandbox or context.machine.is_container else None
            user = account.user if account and account.user != os.geteuid() else None
            await watch_limit(
                context.paths.root, limit_bytes, user, lambda message: self._on_over(context, message)
            )

    def _on_over(self, context: RunContext, message: str) -> None:
        if not context.run.is_over:
            self.update(context, core.on_fault(context.run, message, "user"))

    def tick(self) -> None:
        """Run once per second."""
        now = self._tools.clock.monotonic()
        self._kills.note(now)
        self._space.note(now)

    def look(self, context: RunContext) -> None:
        """Sample a run's processes: their usage if profiled, and whether they hang."""
        if context.profile and not context.run.is_over:
            context.profile.look(context.profiled_run)
        self._watch(context)

    def _watch(self, context: RunContext) -> None:
        """Check for hung ranks. In a gang over several workers the scheduler collects all reports: a rank may be waiting for another worker's."""
        run = context.run
        if run.state not in (RunState.RUNNING, RunState.RESIZING):
            return
        context.watch.look(run.gang.assignment, context.started.values(), self._tools.clock.monotonic())
        if run.gang.assignment.members == 1 and context.watch.hang is not None:
            self.end_hung(context)

    def end_hung(self, context: RunContext) -> None:
        """End a run whose ranks hang: SIGTERM, then SIGKILL. Log where each rank waits."""
        run = context.run
        if run.has_fault or run.is_over:
            return
        for rank, stack in context.watch.stacks():
            context.tail.log(
                f"rank {run.gang.assignment.first_rank + rank} waits here (most recent call first):\n{stack}",
                "error",
            )
        self.send(wire.Kill(str(run.run_id), _SIGTERM))
        kill_at = self._tools.clock.monotonic() + TERM_GRACE_S
        self.update(context, core.on_fault(run, context.watch.hang or GANG_HANGS, "user", kill_at))

    def on_policies(self, context: RunContext, rank: int, line: str, met: tuple[PolicyMatch, ...]) -> None:
        """Record log policies matched by a line of output; the scheduler executes their actions."""
        for match in met:
            context.tail.warn(f"log policy '{match.name}' matched a line of rank {rank}: {line[:MAX_QUOTED]}")
        self.update(context, core.on_policies(context.run, met))

    async def _run_hook(self, context: RunContext) -> None:
        if has_hook(context.paths.code):
            run, allocation = context.run, context.stored.allocation
            secrets = context.secrets.variables
            frame = hook_frame(run, allocation, context.paths, context.machine, SCRIPT, secrets)
            await run_hook(context.hook, frame, self.send, lambda: context.run.is_over)

    def _keep(self, context: RunContext) -> None:
        try:
            self._store.save_run(context.stored)
        except OSError as error:
            _log.error("a run's record could not be written", run=str(context.run.run_id), error=str(error))
            if not context.run.is_over:
                self.on_disk_fault(context, error)

    def _has_stored_all(self, context: RunContext, process: wire.ProcessFrame) -> bool:
        """Whether all reports of the machine's first rank are stored after its exit; if not, retry later.

        The run's end includes its number of validations: none may be counted that a crash could still lose.
        """
        if context.run.asked is Signal.KILL or context.run.request.dropped:
            context.session.close()
        elif not context.session.finish(context.paths.unsent):
            context.start(self._look_again(context, process), "end of the first rank")
            return False
        return True

    async def _look_again(self, context: RunContext, process: wire.ProcessFrame) -> None:
        await asyncio.sleep(KEEP_AGAIN_S)
        self.on_rank(context, process)


def _rendezvous_name(run: LocalRun) -> str:
    return process_name(run.run_id, run.gang.generation, RENDEZVOUS)


def _nobody(_: object) -> None:
    return None
