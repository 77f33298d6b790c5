"""Trials for the searcher: whatever it wants run is granted, trained step by step, and ended."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.clock import SystemClock
from shared.ids import CheckpointId, ExperimentId, RunId, TrialId, derived_id
from shared.messages.base import Event
from shared.messages.checkpoints import CheckpointSaved
from shared.messages.experiments import ExperimentChanged, TrialRequested
from shared.messages.queue import RequestOutcome
from shared.messages.runs import RunGranted
from shared.messages.trial_specs import DesiredState
from tests.integration.searcher.neighbours import Neighbours, closed, run_ended, run_granted, validation
from tests.support.waiting import TIMEOUT_S, eventually

ANSWERS: dict[DesiredState, RequestOutcome] = {
    DesiredState.STOP: "stopped",
    DesiredState.PARK: "parked",
    DesiredState.CANCEL: "cancelled",
    DesiredState.KILL: "killed",
}


@dataclass
class Train:
    """Runs every trial of an experiment that is wanted: grants it, validates it step by step, ends it as told."""

    neighbours: Neighbours
    experiment: ExperimentId
    loss: Callable[[int, int], float]
    repeat: bool = False
    saves_every: int = 0
    steps: dict[CheckpointId, int] = field(default_factory=dict)
    own: set[tuple[TrialId, int]] = field(default_factory=set)
    most_running: int = 0
    running: int = 0
    waited: int = 0
    tasks: dict[tuple[TrialId, int], asyncio.Task[None]] = field(default_factory=dict)

    async def until_over(self, timeout_s: float = 2 * TIMEOUT_S) -> ExperimentChanged:
        async with asyncio.timeout(timeout_s):
            while True:
                for trial, request in self.neighbours.received.requests(self.experiment).items():
                    if (trial, request.request) not in self.tasks:
                        self.tasks[trial, request.request] = asyncio.create_task(self._request(request))
                found = self.neighbours.received.experiment(self.experiment)
                for task in self.tasks.values():
                    if task.done():
                        task.result()
                if found is not None and found.final:
                    await asyncio.gather(*self.tasks.values())
                    return found
                await asyncio.sleep(0.005)

    def _wish(self, trial: TrialId) -> TrialRequested:
        return self.neighbours.received.requests(self.experiment)[trial]

    async def _publish(self, message: Event) -> None:
        first = await self.neighbours.publish(message)
        if self.repeat:
            await self.neighbours.publish(message.model_copy(), id=derived_id(first, "again"))

    async def _request(self, request: TrialRequested) -> None:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        outcome = await self._run(request)
        # The searcher may answer the end with the next request before it has been published twice.
        self.running -= 1
        await self._publish(closed(request, outcome))

    async def _run(self, request: TrialRequested) -> RequestOutcome:
        trial, run = request.trial_id, RunId(derived_id(request.trial_id, "run", request.request))
        granted = run_granted(request, run)
        await self._publish(granted)
        count = saved = 0
        for step in range(self._begins_at(request) + 1, 1000):
            if self._wish(trial).desired_state is not DesiredState.RUN:
                break
            count += 1
            # Read before the validation goes out: its verdict may be here before the next line.
            before = self._wish(trial)
            await self._publish(
                validation(request, run, count, step, self.loss(request.spec.trial_number, step))
            )
            if before.decide_at is not None and step >= before.decide_at:
                await self._await_verdict(run, count, before)
            if self.saves_every and step % self.saves_every == 0:
                saved += 1
                await self._publish(self._saved(granted, saved, step))
        outcome = ANSWERS.get(self._wish(trial).desired_state, "completed")
        await self._publish(run_ended(granted, count, checkpoints=saved))
        return outcome

    def _begins_at(self, request: TrialRequested) -> int:
        """The step of its own newest checkpoint, or of the one that it is given."""
        own = [step for (trial, step) in self.own if trial == request.trial_id]
        start = request.spec.start_checkpoint
        return max(own, default=self.steps.get(CheckpointId(start), 0) if start else 0)

    def _saved(self, granted: RunGranted, number: int, step: int) -> CheckpointSaved:
        checkpoint = CheckpointId(derived_id(granted.run_id, "checkpoint", number))
        self.steps[checkpoint] = step
        self.own.add((granted.trial_id, step))
        return CheckpointSaved(
            **granted.model_dump(include={"trial_id", "experiment_id", "run_id", "token"}),
            checkpoint_id=checkpoint,
            run_number=granted.number,
            version=1,
            number=number,
            step=step,
            state="saved",
            files=1,
            size_bytes=1,
            created_at=SystemClock().now(),
        )

    async def _await_verdict(self, run: RunId, number: int, before: TrialRequested) -> None:
        def is_answered() -> bool:
            # A search that was ended meanwhile gives no verdicts.
            ended = self._wish(before.trial_id).desired_state in (DesiredState.KILL, DesiredState.CANCEL)
            received = self.neighbours.received.verdicts
            return ended or any(v.run_id == run and v.validation == number for _, v in received)

        await eventually(is_answered, every_s=0.002)
        await eventually(lambda: self._wish(before.trial_id).version > before.version, every_s=0.002)
        self.waited += 1


class Patient(Train):
    """A trial whose verdict was lost in the crash resumes by its request, as the desired set would."""

    async def _await_verdict(self, run: object, number: int, before: TrialRequested) -> None:
        await eventually(lambda: self._wish(before.trial_id).version > before.version, every_s=0.005)
