"""One seeded schedule: forty minutes of changing demand in a faulty cloud with a provisioner that is killed at every step, then calm until all is settled."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random
from uuid import UUID

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.instance import IntentId
from services.provisioner.core.instances.launches import worker_at
from services.provisioner.core.planning.loads import WorkerLoad
from services.provisioner.core.renting.pool_spec import PoolSpec
from services.scheduler.core.planning.decisions import Demand as Told
from services.scheduler.core.state.published_events import Fact, WorkerDown, WorkerEmptied, WorkerUp
from services.scheduler.core.state.records.worker import Drain, Liveness, Worker
from shared.ids import PoolName, WorkerId
from simulator.control.scheduler_process import Drained, SchedulerMessage as Command
from simulator.event_queue import EventQueue
from simulator.observers.observer import Observer
from simulator.provisioning.connections import ProvisionerLinks
from simulator.provisioning.provisioner import POINTS, Provisioner
from tests.bench.provisioning.faulty import Box, FaultyCloud

MINUTE_MS = 60_000
FAULTS_MS, CALM_MS = 40 * MINUTE_MS, 45 * MINUTE_MS
ORPHAN_AFTER = timedelta(minutes=5)
KILLS = 24
POOL = PoolName("default")
OFFERS = tuple(
    Offer(
        MachineKind(f"m{slots}", "cloud", slots, "cuda"),
        zone,
        price_per_hour=slots * 1.0 + (zone == "b") / 10,
    )
    for slots in (1, 4)
    for zone in "ab"
)
SPEC = PoolSpec(POOL, OFFERS, 0, 8, timedelta(minutes=2), timedelta(minutes=4))


@dataclass
class Found:
    """What a schedule came to. `extras_s`: machines that the cloud made by itself, which are on nobody's ledger, in seconds."""

    kills: int = 0
    machines: int = 0
    orphans: int = 0
    double_launches: int = 0
    billed_s: float = 0.0
    ledger_s: float = 0.0
    extras_s: float = 0.0
    left: int = 0

    def plus(self, other: "Found") -> "Found":
        return Found(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass
class Schedule:
    """The world of one seed: a cloud, a provisioner, and a scheduler that is nothing but demand."""

    seed: int
    agenda: EventQueue = field(default_factory=EventQueue)
    _joined: dict[WorkerId, Worker] = field(default_factory=dict)
    _versions: int = 0
    _wanted: int = 0
    _orphaned: dict[str, datetime] = field(default_factory=dict)
    _found: Found = field(default_factory=Found)

    def __post_init__(self) -> None:
        self._chance = Random(f"{self.seed}/faults")
        cloud_chance = Random(f"{self.seed}/cloud")
        self.cloud = FaultyCloud(self.agenda, cloud_chance, self._boots, self._on_machine_ended)
        ties = ProvisionerLinks(self.agenda, self._hear, Observer(), lambda: True, self._loads)
        self.provisioner = Provisioner(ties, SPEC, self.cloud)

    def play(self) -> Found:
        """Until nothing stands any more, or the time is up."""
        agenda, chance = self.agenda, self._chance
        for at in range(0, FAULTS_MS, 3 * MINUTE_MS):
            agenda.at(at, partial(self._want, chance.randrange(10)))
        for _ in range(KILLS):
            agenda.at(chance.randrange(FAULTS_MS), self._kill)
        if chance.random() < 0.3:
            agenda.at(chance.randrange(FAULTS_MS), self._stranger)
        agenda.at(FAULTS_MS, self._calm)
        for at in range(0, FAULTS_MS + CALM_MS, 10_000):
            agenda.at(at, self._watch)
        self.provisioner.begin()
        while (next_ms := agenda.next_ms()) is not None and next_ms <= FAULTS_MS + CALM_MS:
            agenda.step()
        return self._result()

    def _want(self, slots: int) -> None:
        self._wanted = slots
        self._send_demand()

    def _send_demand(self) -> None:
        slots = sum(len(one.slot_ids) for one in self._joined.values() if one.drain is Drain.OPEN)
        self._versions += 1
        demand = Told(
            max(0, self._wanted - slots), min(slots, self._wanted), max(0, slots - self._wanted), 0, 0, "cuda"
        )
        self.provisioner.take_demand((self._versions, demand), _nothing)

    def _loads(self) -> Mapping[WorkerId, WorkerLoad]:
        left, loads = self._wanted, {}
        for worker, one in self._joined.items():
            used = min(left, len(one.slot_ids))
            loads[worker] = WorkerLoad(used)
            left -= used
        return loads

    def _boots(self, worker: WorkerId) -> None:
        """It joins, unless another machine has joined under its name: join tokens are good once."""
        known = {one.worker: one for one in self.provisioner.live}
        if worker in self._joined or worker not in known:
            return
        joined = Worker(worker, POOL, "cuda", tuple(range(known[worker].slots)), liveness=Liveness.READY)
        self._joined[worker] = joined
        self._send_fact(WorkerUp(joined))

    def _on_machine_ended(self, worker: WorkerId) -> None:
        if worker in self._joined and not any(box.worker == worker for box in self.cloud.running):
            self._send_fact(WorkerDown(self._joined.pop(worker), "silent"))

    def _hear(self, command: Command) -> None:
        if isinstance(command, Drained) and command.worker in self._joined:
            one = self._joined[command.worker]
            one.drain = Drain.OPEN if command.undo else Drain.DRAINING
            self._send_demand()
            self.agenda.after(self._chance.randrange(MINUTE_MS), partial(self._emptied, one))

    def _emptied(self, one: Worker) -> None:
        if self._joined.get(one.id) is one and one.drain is Drain.DRAINING:
            self._send_fact(WorkerEmptied(one))

    def _send_fact(self, fact: Fact) -> None:
        self._versions += 1
        self.provisioner.take_fact((self._versions, fact), _nothing)
        self._send_demand()

    def _kill(self) -> None:
        if self.provisioner.is_up:
            self.provisioner.dies_at = self._chance.choice(POINTS), self._chance.randrange(30_000)
            self._found.kills += 1

    def _stranger(self) -> None:
        """As after a restored database: it bears our mark, and nobody has it on record."""
        intent = IntentId(UUID(int=self.seed + 1))
        self.cloud.add(worker_at(intent, 0), intent)

    def _calm(self) -> None:
        self.cloud.is_calm = True
        self._want(0)

    def _watch(self) -> None:
        """Who stands and is on nobody's record, since when; counted once it is too long."""
        kept = {one.worker: one.external_id for one in self.provisioner.live}
        now, before = self.agenda.now, self._orphaned
        orphans = [box for box in self.cloud.running if self._is_orphan(box, kept)]
        self._orphaned = {box.id: before.get(box.id, now) for box in orphans}
        self._found.orphans += sum(
            now - since > ORPHAN_AFTER and now - timedelta(seconds=10) - since <= ORPHAN_AFTER
            for since in self._orphaned.values()
        )

    def _is_orphan(self, box: Box, kept: Mapping[WorkerId, str | None]) -> bool:
        return box.worker not in kept or kept[box.worker] not in (None, box.id)

    def _result(self) -> Found:
        found, provisioner, now = self._found, self.provisioner, self.agenda.now
        billed: dict[WorkerId, list[float]] = {}
        for box in self.cloud.boxes.values():
            billed.setdefault(box.worker, []).append(((box.ended or now) - box.launched).total_seconds())
        ours = {one.worker for one in provisioner.instances.values()}
        found.machines = len(self.cloud.boxes)
        found.double_launches = sum(count - 1 for count in self.cloud.launched.values())
        found.ledger_s = sum(hours * 3600 for _, hours in provisioner.hours())
        found.billed_s = sum(max(spans) for worker, spans in billed.items() if worker in ours)
        found.extras_s = sum(sum(spans) for spans in billed.values()) - found.billed_s
        found.left = len(self.cloud.running) + len(provisioner.live)
        return found


def _nothing() -> None:
    """Acknowledged."""
