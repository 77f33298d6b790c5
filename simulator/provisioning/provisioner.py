"""The provisioner: the pool's demand against what stands, decided by its own core. What is around the core mirrors
`services/provisioner` (reconcile, effects, handlers) on virtual time. Neighbour: `cloud`, where the machines are."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from services.provisioner.core.idleness import Idleness
from services.provisioner.core.instance import Instance, State, Trigger, ended, moved
from services.provisioner.core.plan import (
    Plan,
    World,
    is_at_rest,
    on_kicked,
    on_not_done,
    on_ordered,
    pause_after,
    plan_pool,
)
from services.provisioner.core.sizing import Demand, Policy
from services.scheduler.core.decisions import Demand as Told
from services.scheduler.core.facts import Fact, WorkerDown, WorkerEmptied, WorkerUp
from services.scheduler.core.worker import Drain, Liveness
from shared.ids import InstanceId, WorkerId, derived_id
from simulator.agenda import Act, Agenda
from simulator.control.node import Drained, Removed, Told as Message
from simulator.owner import ROOT
from simulator.provisioning.cloud import Cloud, Offer, Unavailable
from simulator.watching.watch import Watch
from simulator.wire import Stream

PLACE = "provisioner"
EVERY_MS, AT_REST_MS = 1000, 5000
POINTS = ("provisioner_after_intent", "provisioner_after_effect")


@dataclass(slots=True)
class Ties:
    """Where the provisioner is joined to the world.

    Attributes:
        is_up: Whether the database answers.
        used_slots: What the scheduler says each worker uses; None: it does not answer.
    """

    agenda: Agenda
    commands: Stream[Message]
    watch: Watch
    is_up: Callable[[], bool]
    used_slots: Callable[[], Mapping[WorkerId, int] | None]


@dataclass(frozen=True, slots=True)
class Rented:
    """A pool whose machines come and go, and where from."""

    policy: Policy
    offer: Offer


class Provisioner:
    """One process and its tables. It dies between an intent, its effect and the record of it, and is started again."""

    def __init__(self, ties: Ties, policy: Policy, cloud: Cloud) -> None:
        self.policy = policy
        self.cloud = cloud
        self.instances: dict[InstanceId, Instance] = {}
        self.most = 0
        """The most machines at a time."""
        self.is_up = True
        self.dies_at: tuple[str, int] | None = None
        """A point of fault at which it is to die next, and for how many milliseconds."""
        self._ties = ties
        self._demand = Demand()
        self._demand_version = 0
        self._idleness = Idleness()
        self._failures = 0
        self._launch_ms = 0
        self._life = 0

    @property
    def cost(self) -> float:
        """Of all machines, from their orders to their ends or to now."""
        return sum(one.price_per_hour * hours for one, hours in self.hours())

    def hours(self) -> Iterator[tuple[Instance, float]]:
        """How long each machine was rented."""
        for one in self.instances.values():
            if one.launched_at is not None:
                until = one.ended_at or self._ties.agenda.now
                yield one, (until - one.launched_at).total_seconds() / 3600

    @property
    def live(self) -> list[Instance]:
        return [one for one in self.instances.values() if not one.is_final]

    def begin(self) -> None:
        """Look at the pool now, and again and again."""
        self._look(self._life)

    def die(self, down_ms: int) -> None:
        """kill -9; what it knew by heart is forgotten, and effects that are not on record are repeated."""
        self.dies_at = None
        self._life += 1
        self.is_up = False
        self._idleness = Idleness()
        self._ties.agenda.after(down_ms, self._start)

    def take_demand(self, told: tuple[int, Told], acknowledge: Act) -> None:
        """What the pool could use; the newest version counts."""
        version, demand = told
        if version > self._demand_version:
            now = self._ties.agenda.now
            self._demand_version = version
            self._demand = Demand(demand.waiting, demand.idle, demand.soon, demand.kind, now)
        acknowledge()

    def take_fact(self, row: tuple[int, Fact], acknowledge: Act) -> None:
        """Joined, drained or lost: only what is newer of a worker counts."""
        version, fact = row
        if isinstance(fact, WorkerUp | WorkerDown | WorkerEmptied):
            known = {one.worker: one for one in self.live}
            before = known.get(fact.worker.id)
            if before is not None and version > before.worker_version:
                self._save(replace(self._after(before, fact), worker_version=version))
        acknowledge()

    def _after(self, before: Instance, fact: WorkerUp | WorkerDown | WorkerEmptied) -> Instance:
        now = self._ties.agenda.now
        match fact:
            case WorkerUp(worker):
                after = moved(before, Trigger.JOINED, now)
                is_open = worker.liveness is Liveness.READY and worker.drain is Drain.OPEN
                return replace(after, is_open=is_open and after.state is State.READY, silent_since=None)
            case WorkerEmptied():
                return replace(moved(before, Trigger.EMPTIED, now), is_open=False)
            case WorkerDown():
                return replace(before, is_open=False, silent_since=before.silent_since or now)

    def _start(self) -> None:
        self.is_up = True
        self.begin()

    def _look(self, life: int) -> None:
        if life != self._life:
            return
        pause_ms = self._reconcile() if self._ties.is_up() else EVERY_MS
        self._ties.agenda.after(pause_ms, lambda: self._look(life))

    def _reconcile(self) -> int:
        """The story of one pass; returns after how many milliseconds the next is due."""
        agenda = self._ties.agenda
        # 1. Load what is on record, look at what there is, and see who is idle.
        live, presences, now = self.live, self.cloud.observe(), agenda.now
        self._idleness.sample(self._ties.used_slots() or {}, now)
        # 2. Decide.
        may_launch = self._launch_ms <= agenda.now_ms
        world = World(self.policy, self._demand, live, presences, self._idleness.since, may_launch)
        plan = plan_pool(world, now)
        # 3. Record the intents and tell of them.
        new = [self._new(seat) for seat in plan.sizing.seats]
        self._record(plan, new)
        # 4. Only now act on them.
        if self._reaches("provisioner_after_intent"):
            self._act(plan, new)
        self.most = max(self.most, len(self.live))
        self._ties.watch.on_machines(self.policy, self.live, self.cloud.observe())
        return AT_REST_MS if is_at_rest(world, plan, now) else EVERY_MS

    def _new(self, seat: int) -> Instance:
        name = InstanceId(derived_id(ROOT, "instance", len(self.instances) + seat))
        while name in self.instances:
            name = InstanceId(derived_id(name, "next"))
        made = self.policy.instance(name, seat, self._ties.agenda.now)
        self._save(made)
        return made

    def _record(self, plan: Plan, new: list[Instance]) -> None:
        now, commands = self._ties.agenda.now, self._ties.commands
        for _, after in plan.moves:
            self._save(after)
        for one in plan.sizing.drains:
            self._save(moved(one, Trigger.DRAIN, now))
            commands.publish(Drained(one.worker, reclaim=False))
        for one in plan.sizing.undone:
            self._save(moved(one, Trigger.UNDO, now))
            commands.publish(Drained(one.worker, reclaim=False, undo=True))
        for one in plan.sizing.withdrawn:
            self._save(moved(one, Trigger.RELEASE, now))

    def _act(self, plan: Plan, new: list[Instance]) -> None:
        for one in (*plan.starts, *new):
            self._launch(one)
        for one in plan.kicks:
            self._save(on_kicked(self.instances[one.id], self._ties.agenda.now))
        for one in plan.ends:
            self._ties.watch.on_ended(one)
            self.cloud.terminate(one.worker)
            if not self._reaches("provisioner_after_effect"):
                return
            self._save(ended(self.instances[one.id], self._ties.agenda.now))
            self._ties.commands.publish(Removed(one.worker))

    def _launch(self, one: Instance) -> None:
        now = self._ties.agenda.now
        try:
            self.cloud.launch(one)
        except Unavailable:
            self._failures += 1
            self._launch_ms = self._ties.agenda.now_ms + round(
                pause_after(self._failures).total_seconds() * 1000
            )
            self._save(on_not_done(self.instances[one.id], now, "the cloud has no such machine"))
            return
        self._failures = 0
        if self.is_up and self._reaches("provisioner_after_effect"):
            self._save(on_ordered(self.instances[one.id], now))

    def _save(self, one: Instance) -> None:
        self.instances[one.id] = one

    def _reaches(self, point: str) -> bool:
        if self.dies_at is None or self.dies_at[0] != point:
            return True
        self.die(self.dies_at[1])
        return False
