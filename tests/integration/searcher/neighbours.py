"""A gateway, scheduler, registry and worker for the searcher: they speak only by messages, on the real bus."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

from shared.bus import Bus, Envelope
from shared.bus.envelope import TYPE
from shared.clock import SystemClock
from shared.errors import Transient
from shared.ids import (
    DEFAULT_TENANT,
    AllocationId,
    CheckpointId,
    ExperimentId,
    PoolName,
    RunId,
    TenantId,
    TrialId,
    WorkerId,
    derived_id,
    new_id,
)
from shared.messages.base import Command, Event
from shared.messages.checkpoints import CheckpointSaved
from shared.messages.experiments import (
    ExperimentChanged,
    GetReferences,
    OperationRefused,
    SubmissionCommitted,
    TrialChanged,
    TrialWanted,
    Verdict,
)
from shared.messages.queue import RequestClosed, RequestOutcome
from shared.messages.reports import ValidationStored
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.specs import Member, Wanted
from tests.support.waiting import PATIENCE_S, eventually

ROOT = Path(__file__).parents[3]
WORKER = WorkerId("w1")
KINDS: dict[str, type[Event]] = {
    kind.TYPE: kind for kind in (ExperimentChanged, TrialChanged, TrialWanted, OperationRefused)
}
ANSWERS: dict[Wanted, RequestOutcome] = {
    Wanted.STOP: "stopped",
    Wanted.PARK: "parked",
    Wanted.CANCEL: "cancelled",
    Wanted.KILL: "killed",
}
E = TypeVar("E", bound=Event)


@contextlib.asynccontextmanager
async def searcher(
    environment: dict[str, str], faults: str = ""
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The real process, ended in order."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "services.searcher",
        cwd=ROOT,
        env={**os.environ, **environment, "MUSTER_FAULTS": faults, "MUSTER_LOG__LEVEL": "warning"},
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
        await asyncio.wait_for(child.wait(), PATIENCE_S)


@dataclass
class Heard:
    """Everything the searcher has said, by message id, so that repetitions are seen as such."""

    events: dict[UUID, Event] = field(default_factory=dict)
    verdicts: list[tuple[str, Verdict]] = field(default_factory=list)

    def all(self, kind: type[E], experiment: ExperimentId) -> list[E]:
        return [
            event
            for event in self.events.values()
            if isinstance(event, kind) and getattr(event, "experiment_id", None) == experiment
        ]

    def experiment(self, experiment: ExperimentId) -> ExperimentChanged | None:
        return max(self.all(ExperimentChanged, experiment), key=lambda e: e.version, default=None)

    def wishes(self, experiment: ExperimentId) -> dict[TrialId, TrialWanted]:
        newest: dict[TrialId, TrialWanted] = {}
        for wish in self.all(TrialWanted, experiment):
            if wish.trial_id not in newest or wish.version > newest[wish.trial_id].version:
                newest[wish.trial_id] = wish
        return newest

    def trials(self, experiment: ExperimentId) -> dict[int, TrialChanged]:
        newest: dict[int, TrialChanged] = {}
        for changed in self.all(TrialChanged, experiment):
            if changed.number not in newest or changed.version > newest[changed.number].version:
                newest[changed.number] = changed
        return newest


class Neighbours:
    """Publishes what the others would, and hears what the searcher says."""

    def __init__(self, bus: Bus, tenant: TenantId = DEFAULT_TENANT) -> None:
        self.bus = bus
        self.tenant = tenant
        self.heard = Heard()
        self.clock = SystemClock()
        self.number = 0
        self.submitted: dict[ExperimentId, SubmissionCommitted] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def joined(cls, url: str, credentials: Path) -> AsyncIterator["Neighbours"]:
        bus = await Bus.connect(url, "admin", credentials)
        await bus.ensure_streams()
        self = cls(bus)
        for subject in ("evt.v1.*.experiment.>", "evt.v1.*.trial.>", "evt.v1.*.operation.>"):
            await bus.subscribe(subject, self._hear)
        await bus.subscribe("wrk.v1.*.verdict", self._hear_verdict)
        await bus.flush()
        yield self
        await bus.close()

    async def publish(
        self, message: Event | Command, id: UUID | None = None, tenant: TenantId | None = None
    ) -> UUID:
        whose = tenant or self.tenant
        envelope = Envelope(id or new_id(self.clock), message.TYPE, message.VERSION, whose)
        subject = message.subject(whose) if isinstance(message, Event) else message.subject()
        await self.bus.jetstream.publish(subject, message.to_bytes(), headers=envelope.to_headers())
        return envelope.id

    async def submit(self, config: dict[str, Any], **more: Any) -> ExperimentId:
        self.number += 1
        experiment = ExperimentId(new_id(self.clock))
        committed = SubmissionCommitted(
            experiment_id=experiment,
            number=self.number,
            name="test",
            workspace="w",
            project="p",
            owner="me",
            config=config,
            submitted_at=self.clock.now(),
            **more,
        )
        self.submitted[experiment] = committed
        await self.publish(committed)
        return experiment

    async def wait_state(
        self, experiment: ExperimentId, *states: str, timeout_s: float = PATIENCE_S
    ) -> ExperimentChanged:
        def reached() -> bool:
            found = self.heard.experiment(experiment)
            return found is not None and found.state in states

        await eventually(reached, timeout_s)
        found = self.heard.experiment(experiment)
        assert found is not None
        return found

    async def wait_answering(self) -> None:
        """Wait until a searcher takes questions."""

        async def is_answered() -> bool:
            try:
                await self.bus.ask(GetReferences(checkpoints=()), self.tenant, 1.0)
            except Transient:
                return False
            return True

        await eventually(is_answered)

    async def _hear(self, message: Any) -> None:
        envelope = Envelope.from_headers(message.headers)
        kind = KINDS.get(message.headers[TYPE])
        if kind is not None:
            self.heard.events[envelope.id] = kind.from_bytes(message.data)

    async def _hear_verdict(self, message: Any) -> None:
        self.heard.verdicts.append((message.subject.split(".")[2], Verdict.from_bytes(message.data)))


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

    async def until_over(self, timeout_s: float = 2 * PATIENCE_S) -> ExperimentChanged:
        async with asyncio.timeout(timeout_s):
            while True:
                for trial, wish in self.neighbours.heard.wishes(self.experiment).items():
                    if (trial, wish.request) not in self.tasks:
                        self.tasks[trial, wish.request] = asyncio.create_task(self._request(wish))
                found = self.neighbours.heard.experiment(self.experiment)
                for task in self.tasks.values():
                    if task.done():
                        task.result()
                if found is not None and found.final:
                    await asyncio.gather(*self.tasks.values())
                    return found
                await asyncio.sleep(0.005)

    def _wish(self, trial: TrialId) -> TrialWanted:
        return self.neighbours.heard.wishes(self.experiment)[trial]

    async def _publish(self, message: Event) -> None:
        first = await self.neighbours.publish(message)
        if self.repeat:
            await self.neighbours.publish(message.model_copy(), id=derived_id(first, "again"))

    async def _request(self, wish: TrialWanted) -> None:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        outcome = await self._run(wish)
        # The searcher may answer the end with the next request before it has been published twice.
        self.running -= 1
        await self._publish(closed(wish, outcome))

    async def _run(self, wish: TrialWanted) -> RequestOutcome:
        trial, run = wish.trial_id, RunId(derived_id(wish.trial_id, "run", wish.request))
        granted = run_granted(wish, run)
        await self._publish(granted)
        count = saved = 0
        for step in range(self._begins_at(wish) + 1, 1000):
            if self._wish(trial).wanted is not Wanted.RUN:
                break
            count += 1
            # Read before the validation goes out: its verdict may be here before the next line.
            before = self._wish(trial)
            await self._publish(validation(wish, run, count, step, self.loss(wish.spec.trial_number, step)))
            if before.decide_at is not None and step >= before.decide_at:
                await self._await_verdict(run, count, before)
            if self.saves_every and step % self.saves_every == 0:
                saved += 1
                await self._publish(self._saved(granted, saved, step))
        outcome = ANSWERS.get(self._wish(trial).wanted, "completed")
        await self._publish(run_ended(granted, count, checkpoints=saved))
        return outcome

    def _begins_at(self, wish: TrialWanted) -> int:
        """The step of its own newest checkpoint, or of the one that it is given."""
        own = [step for (trial, step) in self.own if trial == wish.trial_id]
        start = wish.spec.start_checkpoint
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

    async def _await_verdict(self, run: RunId, number: int, before: TrialWanted) -> None:
        def is_answered() -> bool:
            # A search that was ended meanwhile gives no verdicts.
            ended = self._wish(before.trial_id).wanted in (Wanted.KILL, Wanted.CANCEL)
            heard = self.neighbours.heard.verdicts
            return ended or any(v.run_id == run and v.validation == number for _, v in heard)

        await eventually(is_answered, every_s=0.002)
        await eventually(lambda: self._wish(before.trial_id).version > before.version, every_s=0.002)
        self.waited += 1


def run_granted(wish: TrialWanted, run: RunId, number: int | None = None) -> RunGranted:
    return RunGranted(
        run_id=run,
        trial_id=wish.trial_id,
        experiment_id=wish.experiment_id,
        version=1,
        number=number or wish.request,
        request=wish.request,
        allocation_id=AllocationId(derived_id(run, "allocation")),
        token=1,
        pool=PoolName("default"),
        members=(Member(worker=WORKER, slots=1),),
        granted_at=SystemClock().now(),
    )


def run_ended(granted: RunGranted, validations: int | None, **more: Any) -> RunEnded:
    return RunEnded(
        **granted.model_dump(exclude={"version"}),
        version=2,
        ended_at=SystemClock().now(),
        validations=validations,
        **{"outcome": "completed", "checkpoints": 0, "next": "closed", **more},
    )


def closed(wish: TrialWanted, outcome: RequestOutcome, **more: Any) -> RequestClosed:
    return RequestClosed(
        trial_id=wish.trial_id,
        experiment_id=wish.experiment_id,
        version=3,
        request=wish.request,
        outcome=outcome,
        **{"runs": wish.request, **more},
    )


def validation(
    wish: TrialWanted, run: RunId, number: int, step: int, loss: float, **more: Any
) -> ValidationStored:
    return ValidationStored(
        trial_id=wish.trial_id,
        experiment_id=wish.experiment_id,
        run_id=run,
        version=number,
        token=1,
        number=number,
        step=step,
        worker=WORKER,
        **{"run_number": wish.request, "values": {"loss": loss}, **more},
    )
