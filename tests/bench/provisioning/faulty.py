"""A cloud that answers late, twice and wrongly, and knows what it bills. An intent's id is its idempotency token, as with the real ones.

Of its calls 8 % are refused for lack of capacity, 8 % carried out in part, 8 % carried out and answered with an error, 6 % not carried out and answered
with an error, 4 % throttled, 4 % carried out half a minute after they were answered with an error, 3 % refused and carried out all the same; of its
answers to `terminate` 12 % are errors, half of them after it was done. A look shows what has changed within the last minute or not yet, leaves
out three of a hundred machines, and fails once in twenty. One machine in twenty never boots, one in fifty comes twice, and one in three is
taken back, after an hour on average.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from random import Random

from services.provisioner.core.instances.instance import IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Presence, Sighting
from services.provisioner.core.instances.refusals import LaunchRefusal
from services.provisioner.core.renting.pool_spec import PoolSpec
from shared.errors import Transient
from shared.ids import WorkerId
from simulator.event_queue import EventQueue

CALLS = {
    "as asked": 0.59,
    "no capacity": 0.08,
    "in part": 0.08,
    "done, no answer": 0.08,
    "not done, no answer": 0.06,
    "throttled": 0.04,
    "done later": 0.04,
    "done, refused": 0.03,
}
NO_ANSWER = LaunchRefusal("unknown", "no answer")
NO_CAPACITY = LaunchRefusal("no_capacity", "there is none")
LOOK_LATE_MS, DONE_LATE_MS = 60_000, 30_000
BOOT_MS, TAKEN_AFTER_MS = 45_000, 3_600_000


@dataclass
class Box:
    """A machine, and when a look shows that it is there, and that it has ended."""

    id: str
    worker: WorkerId
    intent: IntentId | None
    launched: datetime
    listed_from_ms: int
    ended: datetime | None = None
    listed_until_ms: int = 0


@dataclass
class FaultyCloud:
    """`calms`: from when on it does as it is told and its looks are exact."""

    agenda: EventQueue
    chance: Random
    boots: Callable[[WorkerId], None]
    ends: Callable[[WorkerId], None]
    is_calm: bool = False
    taken: int = 0
    lateness: timedelta = timedelta(seconds=90)
    boxes: dict[str, Box] = field(default_factory=dict)
    launched: dict[WorkerId, int] = field(default_factory=dict)
    """How often our calls, and not the cloud by itself, made a machine for a worker."""
    _tokens: dict[IntentId, dict[WorkerId, str]] = field(default_factory=dict)

    def prices(self, spec: PoolSpec, now_ms: int) -> PoolSpec:
        return spec

    def observe(self) -> Mapping[WorkerId, Sighting]:
        if self._happens(0.05):
            raise Transient("no answer")
        now_ms = self.agenda.now_ms
        found: dict[WorkerId, list[Box]] = {}
        for box in self.boxes.values():
            is_left_out = box.listed_from_ms > now_ms and not self.is_calm
            if not is_left_out and not self._happens(0.03):
                found.setdefault(box.worker, []).append(box)
        return {worker: self._sighting(boxes) for worker, boxes in found.items()}

    def launch(self, intent: Intent) -> Launched:
        way = "as asked" if self.is_calm else self.chance.choices(list(CALLS), list(CALLS.values()))[0]
        if way == "no capacity":
            return Launched(refused=NO_CAPACITY)
        if way == "not done, no answer":
            return Launched(refused=NO_ANSWER)
        if way == "throttled":
            return Launched(refused=LaunchRefusal("throttled", "slower", timedelta(seconds=2)))
        if way == "done later":
            self.agenda.after(DONE_LATE_MS, lambda: self._make_all(intent))
            return Launched(refused=NO_ANSWER)
        count = len(intent.instances)
        if way == "in part":
            count = self.chance.randrange(count + 1)
        placed = self._make(intent, count)
        if way == "done, no answer":
            return Launched(refused=NO_ANSWER)
        if way == "done, refused":
            return Launched(refused=NO_CAPACITY)
        return Launched(placed, NO_CAPACITY if count < len(intent.instances) else None)

    def terminate(self, worker: WorkerId, machine: str | None = None) -> None:
        fails = self._happens(0.12)
        if fails and self._happens(0.5):
            raise Transient("no answer")
        for box in [box for box in self.boxes.values() if box.worker == worker]:
            if machine is None or box.id == machine:
                self.end(box)
        if fails:
            raise Transient("no answer")

    def end(self, box: Box) -> None:
        """It is paid for until now."""
        if box.ended is None:
            box.ended = self.agenda.now
            box.listed_until_ms = self.agenda.now_ms + self.chance.randrange(LOOK_LATE_MS)
            self.ends(box.worker)

    def add(self, worker: WorkerId, intent: IntentId | None) -> Box:
        """A machine that begins to cost now."""
        listed_from_ms = self.agenda.now_ms + self.chance.randrange(LOOK_LATE_MS)
        box = Box(f"i-{len(self.boxes)}", worker, intent, self.agenda.now, listed_from_ms)
        self.boxes[box.id] = box
        return box

    @property
    def running(self) -> list[Box]:
        return [box for box in self.boxes.values() if box.ended is None]

    def _make_all(self, intent: Intent) -> None:
        self._make(intent, len(intent.instances))

    def _make(self, intent: Intent, count: int) -> dict[WorkerId, str | None]:
        """The first so many of the call; what it made before stays as it is."""
        known = self._tokens.setdefault(intent.id, {})
        for one in intent.instances[:count]:
            if one.worker not in known:
                self.launched[one.worker] = self.launched.get(one.worker, 0) + 1
                known[one.worker] = self._start(one.worker, intent.id).id
                if self._happens(0.02):
                    self._start(one.worker, intent.id)
        asked = [one.worker for one in intent.instances]
        return {worker: box for worker, box in known.items() if worker in asked}

    def _start(self, worker: WorkerId, intent: IntentId) -> Box:
        box = self.add(worker, intent)
        if not self._happens(0.05):
            self.agenda.after(self.chance.randrange(BOOT_MS // 2, BOOT_MS * 2), partial(self._boot, box))
        if self._happens(0.33):
            self.agenda.after(round(self.chance.expovariate(1 / TAKEN_AFTER_MS)), partial(self._take, box))
        return box

    def _boot(self, box: Box) -> None:
        if box.ended is None:
            self.boots(box.worker)

    def _take(self, box: Box) -> None:
        if box.ended is None:
            self.taken += 1
            self.end(box)

    def _sighting(self, boxes: list[Box]) -> Sighting:
        there = [box for box in boxes if box.ended is None or self.agenda.now_ms < box.listed_until_ms]
        if there:
            first, extras = there[0], tuple(box.id for box in there[1:])
            return Sighting(
                Presence.RUNNING, first.id, first.intent, None, extras, launched_at=first.launched
            )
        first = boxes[0]
        return Sighting(Presence.ENDED, first.id, first.intent, None, (), first.launched, first.ended)

    def _happens(self, probability: float) -> bool:
        return not self.is_calm and self.chance.random() < probability
