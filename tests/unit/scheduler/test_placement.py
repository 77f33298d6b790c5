"""Where a request is placed, against a reference that tries everything: one machine first, else the fewest within one domain of the
narrowest level that has room; labels and exclusions respected; whatever has happened before."""

from dataclasses import dataclass
from itertools import combinations
from random import Random

from hypothesis import given, settings, strategies as st

from services.scheduler.core.state.indexes.placement.capacity import CapacityIndex, PlacementRequest
from services.scheduler.core.state.indexes.placement.placement_index import Topology
from services.scheduler.core.state.indexes.placement.worker_capacity import WorkerCapacity
from services.scheduler.core.state.records.labels import Labels, PlacementConstraint, labels_of
from shared.ids import WorkerId
from tests.unit.scheduler.world import Event, tenant_id

NAMES = tuple(WorkerId(name) for name in "abcdefg")
OWNERS = (*[None] * 6, tenant_id(0), tenant_id(1))


def draw_spot(random: Random) -> WorkerCapacity:
    total, owner = random.randint(2, 3), random.choice(OWNERS)
    free = total - random.choice([0, 0, 0, 1, total])
    return WorkerCapacity(
        random.choice(["cpu", "cpu", "cpu", "cuda"]), total, free, 10, owner, int(owner is not None)
    )


def draw_labels(random: Random) -> Labels:
    drawn = {
        "rack": random.choice(["r1", "r2", "r3", ""]),
        "zone": random.choice(["east", "east", "west", ""]),
        "gpu": random.choice(["a100", "a100", "h100", ""]),
    }
    return labels_of({key: value for key, value in drawn.items() if value})


def draw_machines(seed: int) -> list[Event]:
    """Drawn evenly: Hypothesis likes machines to be alike."""
    random = Random(seed)
    told = [(("label", name, draw_labels(random)), ("set", name, draw_spot(random))) for name in NAMES]
    return [event for pair in told for event in pair]


SEEDS = st.integers(0, 2**32)
MACHINES = SEEDS.map(draw_machines)
SPOTS = SEEDS.map(lambda seed: draw_spot(Random(seed)))
LABELS = SEEDS.map(lambda seed: draw_labels(Random(seed)))
WANTED = st.sampled_from([(), (), (), (), (("gpu", "a100"),), (("gpu", "a100"), ("zone", "east"))])
SPOTS = st.builds(
    lambda kind, total, used, owner: WorkerCapacity(
        kind, total, max(0, total - used), 10, owner, 1 if owner else 0
    ),
    st.sampled_from(["cpu", "cpu", "cpu", "cuda"]),
    st.integers(2, 3),
    st.sampled_from([0, 0, 0, 1, 3]),
    st.sampled_from(OWNERS),
)
WHERES = st.none() | st.builds(
    PlacementConstraint, WANTED, WANTED, st.lists(st.sampled_from(NAMES), max_size=2, unique=True).map(tuple)
)
ASKS = st.builds(
    PlacementRequest,
    st.just(tenant_id(0)),
    st.sampled_from([None, None, None, "cpu"]),
    st.sampled_from([False, False, False, True]),
    fraction=st.just(0),
    where=WHERES,
)
TOPOLOGIES = st.sampled_from([("rack",), ("rack", "zone"), ()])
EXCLUSIVE = st.sampled_from([True, True, True, False])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.sampled_from(NAMES), st.none() | SPOTS),
        st.tuples(st.just("label"), st.sampled_from(NAMES), LABELS),
        st.tuples(st.just("try"), ASKS, st.integers(0, 9)),
        st.tuples(st.just("take"), ASKS, st.integers(1, 5)),
    ),
    max_size=6,
)


@dataclass(frozen=True)
class Machine:
    worker: WorkerId
    spot: WorkerCapacity
    labels: Labels
    liked: int


class Reference:
    """The machines as plain lists; every set of machines is tried."""

    def __init__(
        self, capacity: CapacityIndex, exclusive: bool, topology: tuple[str, ...], spread: bool
    ) -> None:
        self.capacity, self.exclusive, self.spread = capacity, exclusive, spread
        self.topology = Topology(topology)

    def machines(self, ask: PlacementRequest, labels: dict[WorkerId, Labels]) -> list[Machine]:
        found = []
        for worker, spot in self.capacity.spots():
            own, where = labels.get(worker, ()), ask.where or PlacementConstraint()
            is_mine = spot.owner in (ask.tenant, None) if self.exclusive else spot.owner is None
            is_meant = worker not in where.excluded and set(where.required) <= set(own)
            if is_mine and is_meant and ask.kind in (None, spot.kind):
                found.append(Machine(worker, spot, own, len(set(where.preferred) & set(own))))
        return found

    def one(self, machines: list[Machine], slots: int) -> WorkerId | None:
        sign = -1 if self.spread else 1
        fitting = [
            (-one.liked, sign * one.spot.free, one.spot.owner is None, one.worker)
            for one in machines
            if one.spot.free >= slots
        ]
        return min(fitting)[-1] if fitting else None

    def gangs(self, machines: list[Machine], slots: int) -> tuple[int, list[set[WorkerId]]] | None:
        """The level taken, and the sets of machines that are as good as any there; the level behind the last is anywhere."""
        most_liked = max((one.liked for one in machines), default=0)
        for level in range(len(self.topology.keys) + 1):
            for liked in range(most_liked, -1, -1):
                within = [one for one in machines if one.liked >= liked and one.spot.free]
                domains: dict[object, list[Machine]] = {}
                for one in within:
                    name = (*self.topology.domains_of(one.labels), ())[level]
                    if name is not None:
                        domains.setdefault(name, []).append(one)
                best = self._best(domains, slots)
                if best:
                    return level, best
        return None

    def _best(self, domains: dict[object, list[Machine]], slots: int) -> list[set[WorkerId]]:
        sign = -1 if self.spread else 1
        found = []
        for members in domains.values():
            free = sum(one.spot.free for one in members)
            for count in range(1, len(members) + 1):
                sets = [
                    {one.worker for one in chosen}
                    for chosen in combinations(members, count)
                    if sum(one.spot.free for one in chosen) >= slots
                ]
                if sets:
                    found.append((count, sign * free, sets))
                    break
        best = min((key[:2] for key in found), default=None)
        return [one for count, free, sets in found if (count, free) == best for one in sets]


def happen(capacity: CapacityIndex, labels: dict[WorkerId, Labels], event: Event) -> None:
    match event:
        case ("set", worker, spot):
            capacity.set(worker, spot)
        case ("label", worker, own):
            labels[worker] = own
            capacity.update(worker, own, capacity.get(worker))
        case ("try", ask, slots):
            with capacity.tentative():
                placement = capacity.place(ask, slots)
                if placement is not None:
                    capacity.take(placement, ask)
                    capacity.place(ask, slots)
        case ("take", ask, slots):
            placement = capacity.place(ask, slots)
            if placement is not None:
                capacity.take(placement, ask)


@settings(max_examples=120, deadline=None)
@given(MACHINES, EVENTS, ASKS, st.integers(3, 7), TOPOLOGIES, EXCLUSIVE, st.booleans())
def test_placement_is_what_trying_everything_finds(
    machines: list[Event],
    events: list[Event],
    ask: PlacementRequest,
    slots: int,
    topology: tuple[str, ...],
    exclusive: bool,
    spread: bool,
) -> None:
    capacity = CapacityIndex(exclusive, topology, spread)
    labels: dict[WorkerId, Labels] = {}
    for event in (*machines, *events):
        happen(capacity, labels, event)
    reference = Reference(capacity, exclusive, topology, spread)
    usable = reference.machines(ask, labels)
    placement = capacity.place(ask, slots)
    free = [one.spot.free for one in usable]
    assert (capacity.free_for(ask), max(free, default=0)) == capacity.free_and_largest_for(ask)
    assert capacity.free_for(ask) == sum(free)
    single = reference.one(usable, slots)
    if single is not None:
        assert placement == ((single, slots),)
        return
    best = reference.gangs(usable, slots) if exclusive and not ask.single_node else None
    if best is None:
        assert placement is None
        return
    assert placement is not None
    assert sum(count for _, count in placement) == slots
    free_on = {one.worker: one.spot.free for one in usable}
    assert all(0 < count <= free_on[worker] for worker, count in placement)
    assert {worker for worker, _ in placement} in best[1]


@settings(max_examples=60, deadline=None)
@given(MACHINES, EVENTS, ASKS, st.integers(0, 9), TOPOLOGIES, st.booleans(), st.booleans())
def test_an_index_with_a_past_places_as_one_made_anew(
    machines: list[Event],
    events: list[Event],
    ask: PlacementRequest,
    slots: int,
    topology: tuple[str, ...],
    exclusive: bool,
    spread: bool,
) -> None:
    old = CapacityIndex(exclusive, topology, spread)
    labels: dict[WorkerId, Labels] = {}
    for event in (*machines, *events):
        happen(old, labels, event)
    new = CapacityIndex(exclusive, topology, spread)
    for worker, own in labels.items():
        new.update(worker, own, None)
    for worker, spot in old.spots():
        new.set(worker, spot)
    assert old.place(ask, slots) == new.place(ask, slots)
    assert old.total_for(ask) == new.total_for(ask) and old.free_on(ask) == new.free_on(ask)
    assert sorted(old.usable_by(ask)) == sorted(new.usable_by(ask))
    assert list(old.least_used(ask)) == list(new.least_used(ask))
    assert dict(old.spots()) == dict(new.spots())
