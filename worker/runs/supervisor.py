"""One run's next move: an event goes through the pure core, what it plans is kept, then done. Neighbour: `runs` holds them all."""

import asyncio
from collections.abc import Callable

import structlog

from muster import wire
from muster.errors import MusterError
from shared import faults, telemetry
from shared.messages.specs import PolicyMatch, Signal
from worker.core.hang import GANG_HANGS, TERM_GRACE_S
from worker.core.naming import RENDEZVOUS, part_of, process_name
from worker.core.run import reducers as core, resize
from worker.core.run.plan import Action, Forget, KillRanks, OpenRendezvous, StartRanks, Tell, plan
from worker.core.run.reducers import LocalRun
from worker.core.run.resize import StartStandBys, TellSeats
from worker.core.run.states import RunState, Trigger
from worker.executors.port import Order
from worker.machine.kernel import MemoryKills
from worker.ranks.launch.frames import hook_frame, rank_frames, rendezvous_frame
from worker.ranks.pace import Pace
from worker.runs import resizing
from worker.runs.context import RunContext, Tools
from worker.runs.hooks import SCRIPT, HookFailed, has_hook, run_hook
from worker.runs.prepare import prepare
from worker.store import KeptRun, Store
from worker.transfer.room import keep_within

AFTER_KEEP = faults.register("worker.after_keep")
KEEP_AGAIN_S = 0.5
NO_ROOM_BYTES = 1024 * 1024
"""A rank that fails while the disk has less has probably failed for it, whatever its exit code."""
MAX_QUOTED = 200
"""Of a line that met a log policy, so much stands in the warning."""
_OVERDUE = "the trial was asked to {asked} and had not ended {within_s:g} s later (preemption_timeout): it is ended by force"
_SIGTERM, _SIGKILL = 15, 9
_log = structlog.get_logger()


class Supervisor:
    """Moves runs. `send` reaches the warm parent; `on_forgotten` is told of a run that nobody asks for any more."""

    def __init__(self, tools: Tools, store: Store, on_change: Callable[[], None]) -> None:
        self._tools = tools
        self._store = store
        self._on_change = on_change
        self._kills = MemoryKills()
        self.send: Callable[[Order], None] = _nobody
        self.use: Callable[[str, str], None] = lambda run, environment: None
        self.on_forgotten: Callable[[RunContext], None] = _nobody

    def update(self, context: RunContext, run: LocalRun) -> None:
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
        faults.point(AFTER_KEEP)
        for action in actions:
            self.act(context, action)
        if before.formation is not None and after.formation is None:
            resizing.close_meetings(context, self.send)
            context.session.pace = Pace()
        if actions and context.run.formation is not None and not context.run.is_over:
            self.update(context, context.run)  # one thing done may let another begin
        self._on_change()

    async def prepare(self, context: RunContext) -> None:
        """Fetch, then go on; it may have been ended meanwhile. Only a startup hook is user code: no other failure here is charged."""
        try:
            await prepare(context, self.enter)
            resizing.bound_here(context)
            await self._run_hook(context)
        except (MusterError, OSError) as error:
            fault: core.Fault = "user" if isinstance(error, HookFailed) else "machine"
            context.tail.say(f"the run could not be prepared: {error}", "error")
            self.update(context, core.on_failed(context.run, Trigger.FETCH_FAILED, fault, str(error)))
            return
        self.update(context, core.on_fetched(context.run))

    def enter(self, context: RunContext, environment: str) -> None:
        """A run's processes are in an environment of their own, from the first on."""
        context.kept = context.kept.model_copy(update={"environment": environment})
        self.use(str(context.run.run_id), environment)

    def on_rendezvous(self, context: RunContext, process: wire.Process) -> None:
        """The rendezvous opened, or ended."""
        run = context.run
        if run.is_over or run.rendezvous is not None or process.name != _meeting_name(run):
            return
        if process.port and process.exit_code is None:
            self.update(context, core.on_rendezvous(run, f"{self._tools.machine.address}:{process.port}"))
        elif run.state is RunState.STARTING:
            reason = f"the gang's rendezvous could not be opened: {process.error or 'it ended'}"
            self.update(context, core.on_failed(run, Trigger.START_FAILED, "machine", reason))

    def on_rank(self, context: RunContext, process: wire.Process) -> None:
        """A rank started, or ended."""
        run = context.run
        if run.is_over:
            return
        if process.name in run.leaving:
            if process.exit_code is not None:
                self.update(context, resize.on_left(run, process.name))
            return
        ranks = sum(part_of(name) != RENDEZVOUS for name in context.started)
        if run.state is RunState.STARTING and ranks == run.seat.ranks:
            self.update(context, core.on_started(run))
        if process.exit_code is None:
            return
        rank = context.run.seat.first_rank + int(part_of(process.name))
        if rank == context.run.seat.first_rank and not self._has_kept_all(context, process):
            return
        context.tail.look_ahead(rank)
        said = context.tail.last_error(rank) if process.exit_code else ""
        if fault := self._fault_of(context.run, process, said):
            self.update(context, core.on_doomed(context.run, fault))
        if process.exit_code == wire.EXIT_INVALID:
            self.update(context, core.on_invalid(context.run, context.tail.invalid_reason(rank)))
        own_kills = context.machine.cgroups.kills(context.run.run_id)
        cause = core.Cause(said, self._kills.is_recent() if own_kills is None else own_kills > 0)
        ended = core.on_exit(context.run, rank, process.exit_code, self._tools.clock.monotonic(), cause)
        self.update(context, ended)

    def on_acknowledged(self, context: RunContext, signal: str) -> None:
        """User code was told to stop."""
        if signal in set(Signal) - {Signal.RUN} and not context.run.is_over:
            self.update(context, core.on_acknowledged(context.run, Signal(signal)))

    def on_seated(self, context: RunContext, local: int, generation: int) -> None:
        """A rank says in which gang it trains, and is told again what it may have missed."""
        if context.run.is_over:
            return
        self.update(context, resize.on_seated(context.run, local, generation))
        formation = context.run.formation
        is_told = formation is not None and formation.is_told and generation < formation.generation
        if is_told or local >= context.run.ranks:
            resizing.tell_seat(context, local)

    def on_disk_fault(self, context: RunContext, error: OSError) -> None:
        """What was to be kept of this run could not be: a full disk is waited for, a broken one ends the run."""
        words = self._tools.machine.words(error)
        if wire.is_disk_full(error):
            context.tail.remark(f"{words}; what the trial reports waits for it")
        else:
            self.update(context, core.on_doomed(context.run, words))

    async def bound(self, context: RunContext) -> None:
        """End a run that takes more room than this worker gives one."""
        most_bytes = self._tools.machine.run_bytes
        if most_bytes is not None:
            await keep_within(context.places.root, most_bytes, lambda words: self._on_over(context, words))

    def _on_over(self, context: RunContext, words: str) -> None:
        if not context.run.is_over:
            self.update(context, core.on_doomed(context.run, words, "user"))

    def tick(self) -> None:
        """A second has passed."""
        self._kills.note(self._tools.clock.monotonic())

    def look(self, context: RunContext) -> None:
        """Look at a run's processes: what they use, where that is asked, and whether they hang."""
        if context.profile and not context.run.is_over:
            context.profile.look(context.subject)
        self._watch(context)

    def _watch(self, context: RunContext) -> None:
        """Look whether ranks hang. Of a gang over several workers the scheduler has to hear it of each: one may wait for another's work."""
        run = context.run
        if run.state is not RunState.RUNNING or run.doomed:
            return
        context.watch.look(run.seat, context.started.values(), self._tools.clock.monotonic())
        if run.seat.members == 1 and context.watch.hang is not None:
            self.end_hung(context)

    def end_hung(self, context: RunContext) -> None:
        """End a run whose ranks hang: by SIGTERM, and soon by SIGKILL. Where each of them waits is said in its log."""
        run = context.run
        if run.doomed or run.is_over:
            return
        for rank, stack in context.watch.stacks():
            context.tail.say(
                f"rank {run.seat.first_rank + rank} waits here (most recent call first):\n{stack}", "error"
            )
        self.send(wire.Kill(str(run.run_id), _SIGTERM))
        kill_at = self._tools.clock.monotonic() + TERM_GRACE_S
        self.update(context, core.on_doomed(run, context.watch.hang or GANG_HANGS, "user", kill_at))

    def on_policies(self, context: RunContext, rank: int, line: str, met: tuple[PolicyMatch, ...]) -> None:
        """A line of the run's output met log policies: what follows is the scheduler's."""
        for match in met:
            context.tail.warn(f"log policy '{match.name}' was met by rank {rank}: {line[:MAX_QUOTED]}")
        self.update(context, core.on_policies(context.run, met))

    def act(self, context: RunContext, action: Action) -> None:
        """Do what was planned."""
        run, allocation = context.run, context.kept.allocation
        machine = context.machine
        match action:
            case OpenRendezvous():
                self.send(rendezvous_frame(run, allocation, machine))
            case StartRanks():
                context.phases.on_ranks_asked()
                with telemetry.span(
                    "start ranks", parent=context.trace, run=run.run_id, slots=run.seat.ranks
                ):
                    for frame in rank_frames(run, allocation, context.places, machine, context.kept.token):
                        self.send(frame)
            case StartStandBys() | TellSeats():
                resizing.do_resize(context, action, self.send)
            case Tell():
                context.session.tell(str(action.signal))
            case KillRanks():
                if run.forced and run.asked not in (Signal.RUN, Signal.KILL) and not run.dropped:
                    context.tail.say(
                        _OVERDUE.format(asked=run.asked, within_s=run.preemption_timeout_s), "warning"
                    )
                self.send(wire.Kill(str(run.run_id), _SIGKILL))
            case Forget():
                self.on_forgotten(context)

    async def _run_hook(self, context: RunContext) -> None:
        if has_hook(context.places.code):
            run, allocation = context.run, context.kept.allocation
            frame = hook_frame(run, allocation, context.places, context.machine, SCRIPT)
            await run_hook(context.hook, frame, self.send, lambda: context.run.is_over)

    def _keep(self, context: RunContext) -> None:
        try:
            self._store.save_run(context.kept)
        except OSError as error:
            _log.error("a run's record could not be kept", run=str(context.run.run_id), error=str(error))
            if not context.run.is_over:
                self.on_disk_fault(context, error)

    def _has_kept_all(self, context: RunContext, process: wire.Process) -> bool:
        """Whether what a machine's first rank said is kept, now that it has ended; if not, its end is looked at again when it is.

        The run's end names its validations, and those are waited for: none may be named that a crash could still lose.
        """
        if context.run.asked is Signal.KILL or context.run.dropped:
            context.session.close()
        elif not context.session.finish(context.places.unsent):
            context.start(self._look_again(context, process), "end of the first rank")
            return False
        return True

    async def _look_again(self, context: RunContext, process: wire.Process) -> None:
        await asyncio.sleep(KEEP_AGAIN_S)
        self.on_rank(context, process)

    def _fault_of(self, run: LocalRun, process: wire.Process, said: str) -> str:
        """Why the machine, and not user code, is to blame for a rank's end; empty where it is not."""
        if process.error or process.exit_code == 0 or run.kill_sent:
            return process.error
        machine = self._tools.machine
        if process.exit_code == wire.EXIT_DISK_FULL:
            return core.describe_full_disk(said, machine.full_text)
        return "" if machine.has_room(NO_ROOM_BYTES) else machine.full_text

    def _conclude(self, context: RunContext) -> None:
        """It has ended here: the last lines, the last reports, no process left."""
        run = context.run
        context.session.finish(context.places.unsent)
        context.session.close()
        context.tail.end(last_words(context.kept))
        context.media.finish()
        if context.profile:
            context.profile.finish(context.subject)
        context.report_source.wake(urgent=True)
        context.log_source.wake(urgent=True)
        self.send(wire.Kill(str(run.run_id), _SIGKILL))
        self.send(wire.Forget(str(run.run_id)))
        context.machine.cgroups.end(run.run_id)
        _log.info("a run ended", run=str(run.run_id), exit_code=run.exit_code, reason=run.reason)


def last_words(kept: KeptRun) -> tuple[str, ...]:
    return (f"run {kept.allocation.run_number}: {kept.run.reason}",) if kept.run.reason else ()


def _meeting_name(run: LocalRun) -> str:
    return process_name(run.run_id, run.generation, RENDEZVOUS)


def _nobody(_: object) -> None:
    return None
