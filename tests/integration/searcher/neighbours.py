"""A gateway, scheduler, registry and worker for the searcher: they speak only by messages, on the real bus."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
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
from shared.messages.experiments import (
    ExperimentChanged,
    GetReferences,
    OperationRefused,
    SubmissionCommitted,
    TrialChanged,
    TrialRequested,
    TrialVerdict,
)
from shared.messages.queue import RequestClosed, RequestOutcome
from shared.messages.reports import ValidationStored
from shared.messages.runs import RunEnded, RunGranted
from shared.messages.trial_specs import GangMember
from tests.support import warm
from tests.support.waiting import TIMEOUT_S, eventually
from tests.support.warm import Warm

ROOT = Path(__file__).parents[3]
WORKER = WorkerId("w1")
KINDS: dict[str, type[Event]] = {
    kind.TYPE: kind for kind in (ExperimentChanged, TrialChanged, TrialRequested, OperationRefused)
}
E = TypeVar("E", bound=Event)


@contextlib.asynccontextmanager
async def searcher(environment: dict[str, str], faults: str = "") -> AsyncIterator[Warm]:
    """The real process, ended in order."""
    own = {"MUSTER_FAULTS": faults, "MUSTER_LOG__LEVEL": "warning"}
    child = await warm.start("services.searcher", {**os.environ, **environment, **own})
    try:
        yield child
    finally:
        if child.returncode is None:
            child.send_signal(signal.SIGTERM)
        await asyncio.wait_for(child.wait(), TIMEOUT_S)


@dataclass
class ReceivedMessages:
    """Everything the searcher has said, by message id, so that repetitions are seen as such."""

    events: dict[UUID, Event] = field(default_factory=dict)
    verdicts: list[tuple[str, TrialVerdict]] = field(default_factory=list)

    def all(self, kind: type[E], experiment: ExperimentId) -> list[E]:
        return [
            event
            for event in self.events.values()
            if isinstance(event, kind) and getattr(event, "experiment_id", None) == experiment
        ]

    def experiment(self, experiment: ExperimentId) -> ExperimentChanged | None:
        return max(self.all(ExperimentChanged, experiment), key=lambda e: e.version, default=None)

    def requests(self, experiment: ExperimentId) -> dict[TrialId, TrialRequested]:
        newest: dict[TrialId, TrialRequested] = {}
        for request in self.all(TrialRequested, experiment):
            if request.trial_id not in newest or request.version > newest[request.trial_id].version:
                newest[request.trial_id] = request
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
        self.received = ReceivedMessages()
        self.clock = SystemClock()
        self.number = 0
        self.submitted: dict[ExperimentId, SubmissionCommitted] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def joined(cls, url: str, credentials: Path) -> AsyncIterator["Neighbours"]:
        bus = await Bus.connect(url, "admin", credentials)
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
        self, experiment: ExperimentId, *states: str, timeout_s: float = TIMEOUT_S
    ) -> ExperimentChanged:
        def reached() -> bool:
            found = self.received.experiment(experiment)
            return found is not None and found.state in states

        await eventually(reached, timeout_s)
        found = self.received.experiment(experiment)
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
            self.received.events[envelope.id] = kind.from_bytes(message.data)

    async def _hear_verdict(self, message: Any) -> None:
        self.received.verdicts.append((message.subject.split(".")[2], TrialVerdict.from_bytes(message.data)))


def run_granted(request: TrialRequested, run: RunId, number: int | None = None) -> RunGranted:
    return RunGranted(
        run_id=run,
        trial_id=request.trial_id,
        experiment_id=request.experiment_id,
        version=1,
        number=number or request.request,
        request=request.request,
        allocation_id=AllocationId(derived_id(run, "allocation")),
        token=1,
        pool=PoolName("default"),
        members=(GangMember(worker=WORKER, slots=1),),
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


def closed(request: TrialRequested, outcome: RequestOutcome, **more: Any) -> RequestClosed:
    return RequestClosed(
        trial_id=request.trial_id,
        experiment_id=request.experiment_id,
        version=3,
        request=request.request,
        outcome=outcome,
        **{"runs": request.request, **more},
    )


def validation(
    request: TrialRequested, run: RunId, number: int, step: int, loss: float, **more: Any
) -> ValidationStored:
    return ValidationStored(
        trial_id=request.trial_id,
        experiment_id=request.experiment_id,
        run_id=run,
        version=number,
        token=1,
        number=number,
        step=step,
        worker=WORKER,
        **{"run_number": request.request, "values": {"loss": loss}, **more},
    )
