"""A registry, a scheduler and a store around real workers: they answer over real NATS and real HTTP, and remember everything."""

import asyncio
import hashlib
from collections import defaultdict
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from aiohttp import web

from muster import archive
from shared.auth.nats_jwt import WorkerIssuer
from shared.auth.sealed_box import seal_for
from shared.auth.signatures import MessageSigner
from shared.bus import Bus, RequestContext, Responder
from shared.clock import SystemClock
from shared.errors import Transient
from shared.ids import DEFAULT_TENANT, AllocationId, ExperimentId, RunId, TrialId, WorkerId
from shared.messages.allocations import (
    DesiredAllocation,
    DesiredSet,
    HeartbeatReply,
    ObservedAllocation,
    ObservedSet,
)
from shared.messages.checkpoints import CommitCheckpoint, CommitMany, Restore, Upload, UploadMany
from shared.messages.experiments import TrialVerdict
from shared.messages.files import GetCode
from shared.messages.images import PinImage, PinnedImage
from shared.messages.media import CommitMedia, SendMedia
from shared.messages.phases import PhaseRecord, PhasesStored, ReportPhases
from shared.messages.reports import LogBatch, Mark, ProfileBatch, ReportBatch, Validation
from shared.messages.secrets import GetRunSecret, SealedSecret
from shared.messages.trial_specs import GangMember, Signal, TrialSpec
from shared.messages.workers import Credentials, Renew
from tests.integration.servers import Servers
from tests.integration.worker.daemon import credentials
from tests.integration.worker.fake_files import FakeFiles

NAMESPACE = UUID("00000000-0000-4000-8000-0000000000aa")


class FakePlatform(FakeFiles):
    """What the neighbours of a worker know and say. `away` makes the registry answer nothing but `try again`."""

    def __init__(self, servers: Servers) -> None:
        super().__init__()
        self.servers = servers
        self.refused: str | None = None
        self.troubles: list[str | None] = []
        self.epoch = 1
        self.leader_since = SystemClock().now()
        self.signer = MessageSigner(WorkerIssuer.from_json(servers.keys.worker_issuer.read_text()).seed)
        self.sequence = 0
        self.observed: dict[str, ObservedSet] = {}
        self.reports: dict[UUID, dict[int, Any]] = defaultdict(dict)
        self.profiles: dict[UUID, list[Any]] = defaultdict(list)
        self.lines: dict[UUID, dict[tuple[str, int], Any]] = defaultdict(dict)
        self.phases: dict[UUID, list[PhaseRecord]] = defaultdict(list)
        self.repeats = 0
        self.decide_at: dict[UUID, list[float | None]] = {}
        self.verdicts: dict[tuple[UUID, int], str] = {}
        self.verdict_delay_s = 0.0
        self.secrets: dict[str, str | Exception] = {}
        """The values of secrets by name, which every run gets that asks."""
        self.secret_keys: dict[str, str] = {}
        """The keys of the workers that get any."""
        self.secrets_asked: list[tuple[str, str]] = []
        self.pins: dict[tuple[UUID, str], str] = {}
        """The digests of images, by experiment and name."""
        self.pins_asked: list[PinImage] = []
        self.before_pinning: asyncio.Barrier | None = None
        """Where the first ones that ask for an image's digest wait for each other."""
        self._experiments: dict[UUID, UUID] = {}
        self._closers: list[Any] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        url = self.servers.nats.url
        keys = self.servers.keys
        self.registry = await Bus.connect(url, "registry", keys.credentials("registry"))
        self.scheduler = await Bus.connect(url, "scheduler", keys.credentials("scheduler"))
        self.searcher = await Bus.connect(url, "searcher", keys.credentials("searcher"))
        self.gateway = await Bus.connect(url, "gateway", keys.credentials("gateway"))
        for bus, owner, answers in (
            (
                self.registry,
                "registry",
                {
                    ReportBatch: self._on_batch,
                    LogBatch: self._on_batch,
                    ProfileBatch: self._on_batch,
                    ReportPhases: self._on_phases,
                    GetCode: self.on_code,
                    PinImage: self._on_pin,
                    Restore: self.on_restore,
                    Upload: self.on_upload,
                    CommitCheckpoint: self.on_commit,
                    UploadMany: self.on_upload_many,
                    CommitMany: self.on_commit_many,
                    SendMedia: self.on_send_media,
                    CommitMedia: self.on_commit_media,
                },
            ),
            (self.gateway, "gateway", {GetRunSecret: self._on_secret}),
            (self.scheduler, "scheduler", {ObservedSet: self._on_observed, Renew: self._on_renew}),
        ):
            responder = Responder(bus, owner, answers)  # type: ignore[arg-type]
            await responder.__aenter__()
            self._closers.append(responder)
        await self.store.start(web.post("/v1/workers/join", self._on_join))

    async def stop(self) -> None:
        for closer in self._closers:
            await closer.__aexit__()
        for bus in (self.registry, self.scheduler, self.searcher, self.gateway):
            await bus.close()
        await self.store.stop()

    def add_code(self, folder: Path) -> str:
        packed = archive.pack(folder)
        return self.add_archive(packed.content)

    def add_archive(self, content: bytes) -> str:
        sha256 = hashlib.sha256(content).hexdigest()
        self.store.objects[f"code/{sha256}"] = content
        return sha256

    def allocation(
        self, name: str, code: str, members: tuple[GangMember, ...], **more: Any
    ) -> DesiredAllocation:
        run_id = RunId(uuid5(NAMESPACE, f"run {name}"))
        self.code[run_id] = code
        spec: dict[str, Any] = {
            "experiment_number": 1,
            "trial_number": 1,
            "code_hash": code,
            "entrypoint": "python3 train.py",
            "hyperparameters": {"lr": 0.1},
            "seed": 7,
            "metric": "loss",
        }
        spec |= more.pop("spec", {})
        experiment = ExperimentId(uuid5(NAMESPACE, more.pop("experiment", "experiment")))
        self._experiments[run_id] = experiment
        return DesiredAllocation(
            allocation_id=AllocationId(uuid5(NAMESPACE, f"allocation {name}")),
            run_id=run_id,
            run_number=more.pop("run_number", 1),
            trial_id=TrialId(uuid5(NAMESPACE, f"trial {name}")),
            experiment_id=experiment,
            tenant=DEFAULT_TENANT,
            token=more.pop("token", 1),
            generation=1,
            signal=more.pop("signal", Signal.RUN),
            members=members,
            spec=TrialSpec(**spec),
            **more,
        )

    async def desire(self, worker: str, *allocations: DesiredAllocation) -> ObservedSet:
        self.sequence += 1
        desired = DesiredSet(
            worker=WorkerId(worker),
            epoch=self.epoch,
            sequence=self.sequence,
            allocations=allocations,
            leader_since=self.leader_since,
        )
        observed = await self.scheduler.send_desired(desired, self.signer)
        self.observed[worker] = observed
        return observed

    def of(self, worker: str, allocation: DesiredAllocation) -> ObservedAllocation | None:
        observed = self.observed.get(worker)
        found = observed.allocations if observed else ()
        return next((one for one in found if one.allocation_id == allocation.allocation_id), None)

    def steps(self, allocation: DesiredAllocation) -> list[int]:
        """Steps of all stored reports in the order of their numbers."""
        stored = self.reports[allocation.run_id]
        return [stored[number].step for number in sorted(stored)]

    def saved_of(self, allocation: DesiredAllocation) -> list[Upload]:
        """Checkpoints of a run that were committed, in order."""
        return [upload for upload in self.saved if upload.run_id == allocation.run_id]

    def text(self, allocation: DesiredAllocation) -> str:
        stored = self.lines[allocation.run_id]
        return "\n".join(stored[key].text for key in sorted(stored))

    async def _on_phases(self, ask: RequestContext, told: ReportPhases) -> PhasesStored:
        self.phases[told.run_id].extend(told.phases)
        return PhasesStored()

    async def _on_batch(self, ask: RequestContext, batch: ReportBatch | LogBatch | ProfileBatch) -> Mark:
        if self.away:
            raise Transient("the registry is away in this test", retry_after_s=0.2)
        key = (batch.run_id, batch.stream, str(ask.worker))
        expected = self.marks[key]
        if batch.first != expected:
            self.repeats += 1
            return Mark(next=expected)
        for number, record in enumerate(batch.records, start=batch.first):
            if batch.stream == "logs":
                self.lines[batch.run_id][str(ask.worker), number] = record
                continue
            if batch.stream == "profile":
                self.profiles[batch.run_id].append(record)
                continue
            self.reports[batch.run_id][number] = record
            if isinstance(record, Validation):
                self._decide(ask.worker, batch.run_id, record)
        self.marks[key] = batch.first + len(batch.records)
        return Mark(next=self.marks[key], refused=self.refused if batch.stream == "reports" else None)

    def _decide(self, worker: WorkerId, run_id: RunId, validation: Validation) -> None:
        rule = self.verdicts.get((run_id, validation.number))
        if rule is None:
            return
        verdict = TrialVerdict(
            run_id=run_id,
            validation=validation.number,
            verdict=rule,
            next_decide_at=validation.step + 1 if rule == "go_on" else None,
        )
        task = asyncio.get_running_loop().create_task(self._tell(verdict, worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, verdict: TrialVerdict, worker: WorkerId) -> None:
        await asyncio.sleep(self.verdict_delay_s)
        await self.searcher.notify_worker(verdict, worker)

    async def _on_observed(self, ask: RequestContext, observed: ObservedSet) -> HeartbeatReply:
        if self.away:
            raise Transient("the scheduler is away in this test")
        self.observed[str(ask.worker)] = observed
        return HeartbeatReply(epoch=self.epoch)

    async def _on_pin(self, ask: RequestContext, query: PinImage) -> PinnedImage:
        if self.away:
            raise Transient("the registry is away in this test", retry_after_s=0.2)
        self.pins_asked.append(query)
        key = self._experiments[query.run_id], query.image
        if query.resolved is not None:
            self.pins.setdefault(key, query.resolved)
        found = PinnedImage(digest=self.pins.get(key))
        if query.resolved is None and (barrier := self.before_pinning) is not None:
            await barrier.wait()
            self.before_pinning = None
        return found

    async def _on_secret(self, ask: RequestContext, query: GetRunSecret) -> SealedSecret:
        if self.away:
            raise Transient("the gateway is away in this test", retry_after_s=0.2)
        self.secrets_asked.append((str(ask.worker), query.name))
        value = self.secrets[query.name]
        if isinstance(value, Exception):
            raise value
        return SealedSecret(sealed=seal_for(self.secret_keys[str(ask.worker)], value.encode()))

    async def _on_renew(self, ask: RequestContext, request: Renew) -> Credentials:
        return credentials(self.servers, str(ask.worker), request.user_key)

    async def _on_join(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.troubles.append(asked["trouble"])
        signed = asked.get("identity_document"), asked.get("identity_signature")
        is_known = signed in (("of new", "by aws"), ("signed by google", None))
        if request.headers.get("Authorization") != "Bearer right" and not is_known:
            problem = {
                "type": "urn:muster:error:rejected",
                "code": "unauthenticated",
                "detail": "the join token is not good",
            }
            return web.json_response(problem, status=403)
        return web.json_response(
            credentials(self.servers, asked["worker"], asked["user_key"]).model_dump(mode="json")
        )
