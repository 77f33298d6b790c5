"""Small worlds drawn from a seed: machines, a workload, and faults to happen to them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import get_args

from muster.config import load_config
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.pool import PoolPolicy, Quota
from shared.ids import PoolName, WorkerId
from simulator.bus import ROUGH
from simulator.control.leader_term import Tempo
from simulator.demand.reservations import ReservationItem
from simulator.experiments.submission import Submission
from simulator.experiments.synthetic_curves import Learning
from simulator.faults import Fault, Faults, InjectedFault, draw
from simulator.machines.machine_slots import Kind
from simulator.observers.event_digest import Trace
from simulator.observers.invariant import Invariant
from simulator.observers.observer import Observer
from simulator.observers.scheduling_invariants import NoHealthyRunKilled, NothingLost, all_invariants
from simulator.provisioning.connections import Rented
from simulator.simulation import Setup, Simulation
from simulator.trials import PlainWork, WorkloadTrial
from tests.support.policies import plain

POOL = PoolName("default")
EVERY_FAULT: tuple[Fault, ...] = get_args(Fault)
MINUTE_MS = 60_000
REAL = Tempo(cycle_delay_ms=5, commit_ms=5, tick_ms=1000, beat_ms=1000)
SLOTS = (1, 2, 2, 4, 8)
MACHINES = [
    Kind(WorkerId(f"w{number}"), POOL, slots, labels=(("rack", f"r{number % 2}"),))
    for number, slots in enumerate(SLOTS)
]
WHERES = (
    *[None] * 5,
    PlacementConstraint(preferred=(("rack", "r1"),)),
    PlacementConstraint(required=(("rack", "r0"),)),
    PlacementConstraint(excluded=(WorkerId("w0"), WorkerId("w3"))),
)
BOOKINGS = (
    ReservationItem(("tenant-1",), 4, 30_000, 90_000),
    ReservationItem(("tenant-0", "lab"), 3, 60_000, 240_000),
)
QUANTA = (None, None, timedelta(seconds=20))


METHODS = ("single", "random", "async_halving", "adaptive_asha", "adaptive_asha")


@dataclass
class World:
    """A simulation under all invariants."""

    simulation: Simulation
    invariants: list[Invariant]
    trace: Trace

    def end(self, after_ms: int = 120 * MINUTE_MS) -> str:
        """Runs until all work is done, which must happen, and returns the digest of all that happened."""
        assert self.simulation.run(after_ms), f"{self.simulation.left} requests never closed"
        for invariant in self.invariants:
            if isinstance(invariant, NothingLost):
                self._settle(invariant)
                invariant.check_end(self.simulation.requests())
        return self.trace.digest

    def _settle(self, invariant: NothingLost) -> None:
        """A search that ends may end trials without a run before the scheduler has closed their requests: that follows soon."""
        agenda = self.simulation.agenda
        until_ms = agenda.now_ms + 10 * MINUTE_MS
        while invariant.missing(self.simulation.requests()):
            next_ms = agenda.next_ms()
            if next_ms is None or next_ms > until_ms:
                break
            agenda.step()


def world(
    seed: int,
    faults: Iterable[Fault] = (),
    count: int = 8,
    longest_ms: int = 2 * MINUTE_MS,
    troubles: Iterable[InjectedFault] = (),
    watches: Iterable[Observer] = (),
    longest_work_ms: int = 90_000,
    policy: PoolPolicy | None = None,
    tempo: Tempo = REAL,
    searches: int = 0,
    rented: Rented | None = None,
    methods: Sequence[str] = METHODS,
) -> World:
    """A world of five machines (or of rented ones), a dozen trials and so many searches; `count` faults of the given kinds happen in its first four
    minutes."""
    chance = Random(f"{seed}/world")
    policy = policy or _policy(chance, seed)
    setup = Setup(
        policy=policy,
        machines=[] if rented else MACHINES,
        rented=rented,
        items=[
            _placed(_item(chance, number, longest_work_ms), seed, number, policy.elastic, rented is not None)
            for number in range(chance.randrange(8, 16))
        ],
        seed=seed,
        bookings=BOOKINGS if seed % 5 == 0 else (),
        tempo=tempo,
        weather=ROUGH,
        nodes=2,
        failing=chance.choice([0.0, 0.02]),
        quotas={
            ("tenant-0",): Quota(guaranteed=4, maximum=chance.choice([None, 8])),
            ("tenant-1", "lab"): Quota(maximum=chance.choice([None, 6]), weight=2.0),
        },
        submissions=[
            _submission(Random(f"{seed}/search {number}"), number, methods) for number in range(searches)
        ],
    )
    drawn = draw(Random(f"{seed}/faults"), count, 4 * MINUTE_MS, faults, longest_ms) if faults else []
    return begun(setup, [*drawn, *troubles], watches)


def begun(setup: Setup, troubles: Iterable[InjectedFault] = (), watches: Iterable[Observer] = ()) -> World:
    """A given world under all invariants, with these troubles to come."""
    invariants, trace = all_invariants(), Trace()
    simulation = Simulation(setup, [*invariants, trace, *watches])
    trace.agenda = simulation.agenda
    doer = Faults(simulation)
    for invariant in invariants:
        if isinstance(invariant, NoHealthyRunKilled):
            invariant.troubled = doer.troubled
    doer.plan(troubles)
    simulation.begin()
    return World(simulation, invariants, trace)


def _policy(chance: Random, seed: int) -> PoolPolicy:
    """What came later is drawn from the seed itself, so that worlds stay what they were."""
    return plain(
        POOL,
        exclusive=chance.random() < 0.7,
        preemption=chance.random() < 0.5,
        order=chance.choice(["fifo", "priority", "fair_share"]),
        ageing=chance.choice([None, timedelta(seconds=10)]),
        min_run=chance.choice([timedelta(0), timedelta(seconds=30)]),
        max_preemptions=chance.choice([2, 5]),
        half_life=timedelta(minutes=10),
        quantum=Random(f"{seed}/turns").choice(QUANTA),
        defragment=seed % 3 == 0,
        topology=("rack",) if seed % 2 else (),
        elastic=seed % 4 == 1,
    )


def _item(chance: Random, number: int, longest_work_ms: int) -> WorkloadTrial:
    slots = chance.choice([1, 1, 2, 3, 4, 6])
    return WorkloadTrial(
        name=f"trial-{number}",
        arrives_ms=chance.randrange(2 * MINUTE_MS),
        work=PlainWork(chance.randrange(5_000, longest_work_ms), slots),
        min_slots=slots,
        max_slots=slots,
        fraction=chance.choice([0, 250, 500, 700]) if slots == 1 else 0,
        tenant=f"tenant-{number % 2}",
        workspace="lab" if number % 5 < 3 else "class",
        experiment=f"experiment-{number % 5}",
        priority=chance.choice([None, 10, 50]),
        checkpoint_ms=chance.choice([None, 20_000]),
        launch_ms=chance.choice([200, 3_000]),
        experiment_max_slots=chance.choice([None, None, 6]),
        max_concurrent_trials=chance.choice([None, None, 2]),
    )


def _placed(item: WorkloadTrial, seed: int, number: int, is_lent_to: bool, is_rented: bool) -> WorkloadTrial:
    """Where it may be, and in pools that lend, whether fewer slots will do."""
    chance = Random(f"{seed}/where {number}")
    where = None if is_rented else chance.choice(WHERES)
    if not is_lent_to or item.fraction or chance.random() < 0.4:
        return replace(item, where=where)
    return replace(item, where=where, min_slots=1, resize_ms=chance.choice([None, 300]))


def _submission(chance: Random, number: int, methods: Sequence[str]) -> Submission:
    """A search of one to some dozen trials; its metric may be wrong, noisy or not finite now and then."""
    name = chance.choice(methods)
    divisor, max_time = chance.choice([2, 3, 4]), chance.choice([8, 16, 27])
    halving = {
        "time_metric": chance.choice(["step", "epochs"]),
        "max_time": max_time,
        "divisor": divisor,
        "stop_once": chance.random() < 0.7,
    }
    many = {"max_trials": chance.randrange(2, 14), "max_concurrent_trials": chance.choice([0, 1, 2, 5])}
    timed = {key: halving[key] for key in ("time_metric", "max_time")}
    places = {"max_concurrent_trials": many["max_concurrent_trials"]}
    keys: dict[str, dict[str, object]] = {
        "hyperband": {**places, **timed, "divisor": divisor, "min_time": max_time // 6},
        "pbt": {**places, **timed, "population_size": 2 + many["max_trials"] // 3, "interval": max_time // 4},
        "single": {},
        "random": {**many},
        "async_halving": {**many, **halving, "num_rungs": chance.choice([1, 2, 3])},
        "adaptive_asha": {
            **many,
            **halving,
            "mode": chance.choice(["aggressive", "standard", "conservative"]),
        },
    }
    space: dict[str, object] = {"lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1}}
    config = {
        "entrypoint": "python3 train.py",
        "hyperparameters": {"lr": 0.1}
        if name == "single"
        else {**space, "act": {"type": "categorical", "vals": ["relu", "gelu"]}},
        "searcher": {
            "name": name,
            "metric": "score",
            "smaller_is_better": chance.random() < 0.5,
            **keys[name],
        },
        "budget": _budget(Random(f"budget {number} {max_time} {divisor} {many}")),
        "resources": {"slots_per_trial": chance.choice([0, 1, 2, 3]), "max_slots": chance.choice([None, 6])},
        "max_restarts": chance.choice([0, 5]),
    }
    learning = Learning(
        steps=chance.choice([max_time, max_time, max_time // 2]),
        step_ms=chance.choice([500, 3000]),
        spread=0.3,
        validate_every=chance.choice([1, 3]),
        noise=0.05,
    )
    return Submission(
        f"search-{number}",
        load_config(config),
        learning,
        arrives_ms=chance.randrange(MINUTE_MS),
        tenant=f"tenant-{number % 2}",
        seed=chance.randrange(1000),
        checkpoint_ms=chance.choice([None, 5_000]),
    )


def _budget(chance: Random) -> dict[str, object] | None:
    """Half of the searches have one, which ends most of them early."""
    limits: dict[str, object] = {}
    if chance.random() < 0.4:
        limits["slot_hours"] = chance.choice([0.02, 0.1, 0.4])
    if chance.random() < 0.3:
        limits["deadline"] = chance.choice(["2m", "10m", "1h"])
    return limits or None
