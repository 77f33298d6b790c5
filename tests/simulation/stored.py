"""Worlds that once broke an invariant, written out: machines, trials, policy and faults. Nothing here is drawn from a seed, so that they
stay what they are when the way in which worlds are drawn changes. Each names its policy in full."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from muster.config import load_config
from services.scheduler.core.state.records.labels import PlacementConstraint
from services.scheduler.core.state.records.pool import PoolPolicy, Quota
from shared.ids import WorkerId
from simulator.bus import CALM, ROUGH
from simulator.demand.reservations import ReservationItem
from simulator.experiments.submission import Submission
from simulator.experiments.synthetic_curves import Learning
from simulator.faults import InjectedFault
from simulator.machines.machine_slots import Kind
from simulator.simulation import Setup
from simulator.trials import PlainWork, WorkloadTrial
from tests.simulation.worlds import POOL, REAL

PLAIN = PoolPolicy(
    POOL,
    order="priority",
    preemption=False,
    exclusive=True,
    elastic=False,
    defragment=False,
    quantum=None,
    ageing=None,
    min_run=timedelta(0),
    max_preemptions=5,
    half_life=timedelta(days=1),
    topology=(),
    placement="best_fit",
)
ELASTIC = replace(PLAIN, elastic=True)


@dataclass(frozen=True, slots=True)
class Stored:
    """A world and its faults."""

    setup: Setup
    troubles: tuple[InjectedFault, ...] = ()


def _machines(*slots: int) -> list[Kind]:
    return [
        Kind(WorkerId(f"w{number}"), POOL, count, labels=(("rack", f"r{number % 2}"),))
        for number, count in enumerate(slots)
    ]


def _trial(
    number: int,
    arrives_ms: int,
    length_ms: int,
    slots: int | tuple[int, int],
    priority: int | None,
    **more: object,
) -> WorkloadTrial:
    """`slots`: how many, or from how many to how many."""
    least, most = slots if isinstance(slots, tuple) else (slots, slots)
    fields: dict[str, object] = {
        "tenant": "tenant-0",
        "workspace": "lab",
        "experiment": f"experiment-{number}",
        "launch_ms": 200,
        **more,
    }
    return WorkloadTrial(
        f"trial-{number}",
        arrives_ms,
        PlainWork(length_ms, most),
        min_slots=least,
        max_slots=most,
        priority=priority,
        **fields,  # type: ignore[arg-type]
    )


def _calm(
    policy: PoolPolicy,
    machines: list[Kind],
    items: list[WorkloadTrial],
    bookings: tuple[ReservationItem, ...] = (),
) -> Setup:
    """Nothing is left to chance: messages take a millisecond, and no code fails."""
    return Setup(
        policy, machines, items, seed=0, tempo=REAL, weather=CALM, nodes=1, failing=0.0, bookings=bookings
    )


def _searching(name: str, searcher: dict[str, object], more: dict[str, object]) -> dict[str, object]:
    return {
        "entrypoint": "python3 train.py",
        "searcher": {"name": name, "metric": "score", **searcher},
        "max_restarts": 0,
        **more,
    }


BOOKED = Stored(
    # Seed 901875, made calm. From 60 s on the workspace "lab" has booked three slots, which it uses; a trial of another workspace waits.
    _calm(
        replace(PLAIN, quantum=timedelta(seconds=20), defragment=True),
        _machines(1, 2, 2, 4, 8),
        [
            _trial(13, 9_970, 31_797, 4, None, experiment="experiment-3"),
            _trial(10, 10_866, 35_444, 3, None, experiment="experiment-0", launch_ms=3_000),
            _trial(0, 17_604, 23_729, 1, None),
            _trial(15, 24_029, 23_834, 1, None, tenant="tenant-1"),
            _trial(9, 38_219, 34_432, 2, None, tenant="tenant-1", experiment="experiment-4"),
            _trial(12, 60_118, 77_032, 1, None, experiment="experiment-2"),
            _trial(1, 56_820, 75_689, 4, 10, tenant="tenant-1"),
            _trial(2, 57_995, 52_713, 4, None),
            _trial(14, 63_176, 88_897, 4, 10, workspace="class", experiment="experiment-5"),
            _trial(11, 67_891, 30_278, 2, None, experiment="experiment-1"),
        ],
        bookings=(
            ReservationItem(("tenant-1",), 4, 30_000, 90_000),
            ReservationItem(("tenant-0", "lab"), 3, 60_000, 240_000),
        ),
    ),
    (
        InjectedFault(33_000, "spot_taken", 0, whom=74, how=189),
        InjectedFault(54_631, "power_lost", 2_000, whom=26, how=387),
    ),
)

SHARES_ON_THEIR_WAY = Stored(
    # Seed 901581: the more important of two elastic trials was to have a slot of a machine that another run was still leaving.
    Setup(
        replace(ELASTIC, preemption=True, min_run=timedelta(seconds=30)),
        _machines(1, 2, 2, 4, 8),
        [
            _trial(0, 46_451, 33_163, 3, 10),
            _trial(1, 85_305, 84_032, (1, 2), None, tenant="tenant-1", launch_ms=3_000),
            _trial(2, 28_647, 45_793, (1, 2), None, launch_ms=3_000),
            _trial(3, 41_235, 73_532, 1, 10, tenant="tenant-1", fraction=500),
            _trial(4, 29_208, 24_256, 1, None),
            _trial(5, 89_940, 71_470, 1, None, tenant="tenant-1", fraction=500, experiment="experiment-0"),
            _trial(6, 19_040, 53_588, (1, 2), 50, experiment="experiment-1", launch_ms=3_000, resize_ms=300),
            _trial(8, 104_167, 33_418, (1, 6), None, experiment="experiment-3"),
            _trial(
                9, 101_093, 33_286, (1, 2), None,
                tenant="tenant-1", experiment="experiment-4", launch_ms=3_000, resize_ms=300,
            ),
            _trial(10, 62_445, 43_887, 1, None, experiment="experiment-0", checkpoint_ms=20_000),
            _trial(
                11, 24_153, 7_665, (1, 3), 50,
                tenant="tenant-1", experiment="experiment-1", checkpoint_ms=20_000,
            ),
            _trial(12, 18_182, 29_346, 6, None, experiment="experiment-2"),
            _trial(13, 61_207, 34_760, 1, None, tenant="tenant-1", experiment="experiment-3", checkpoint_ms=20_000),
            _trial(
                14, 6_549, 89_296, 2, None,
                experiment="experiment-4", checkpoint_ms=20_000, where=PlacementConstraint(required=(("rack", "r0"),)),
            ),
        ],
        seed=901581,
        tempo=REAL,
        weather=ROUGH,
        nodes=2,
        quotas={
            ("tenant-0",): Quota(guaranteed=4, maximum=8),
            ("tenant-1", "lab"): Quota(maximum=None, weight=2.0),
        },
        submissions=[
            Submission(
                "search-0",
                load_config(
                    _searching(
                        "async_halving",
                        {
                            "smaller_is_better": False, "time_metric": "step", "max_time": 27, "divisor": 4,
                            "num_rungs": 2, "stop_once": True, "max_trials": 3, "max_concurrent_trials": 1,
                        },
                        {
                            "hyperparameters": {
                                "lr": {"type": "log", "base": 10, "minval": -4, "maxval": -1},
                                "act": {"type": "categorical", "vals": ["relu", "gelu"]},
                            },
                            "budget": {"slot_hours": 0.02},
                        },
                    )
                ),
                Learning(steps=27, step_ms=500, spread=0.3, validate_every=3, noise=0.05),
                arrives_ms=54_375,
                tenant="tenant-0",
                seed=50,
                checkpoint_ms=5_000,
            ),
            Submission(
                "search-1",
                load_config(
                    _searching(
                        "single",
                        {},
                        {
                            "hyperparameters": {"lr": 0.1},
                            "resources": {"slots_per_trial": 0, "max_slots": 6},
                        },
                    )
                ),
                Learning(steps=8, step_ms=3000, spread=0.3, validate_every=3, noise=0.05),
                arrives_ms=42_409,
                tenant="tenant-1",
                seed=376,
            ),
        ],
    ),
    (
        InjectedFault(2_494, "worker_cut_off", 34_000, whom=73, how=444),
        InjectedFault(5_000, "daemon_restarted", 2_000, whom=81, how=254),
        InjectedFault(7_458, "spot_taken", 1_577, whom=99, how=701),
        InjectedFault(25_101, "scheduler_froze", 328, whom=91, how=126),
        InjectedFault(33_000, "database_down", 22_000, whom=41, how=630),
        InjectedFault(37_510, "power_lost", 100, whom=95, how=750),
        InjectedFault(47_000, "scheduler_died", 47_203, whom=57, how=158),
        InjectedFault(53_401, "worker_cut_off", 12_000, whom=5, how=957),
        InjectedFault(93_248, "scheduler_froze", 106_000, whom=13, how=404),
        InjectedFault(104_000, "search_steered", 6_000, whom=76, how=380),
        InjectedFault(106_000, "daemon_restarted", 0, whom=17, how=202),
        InjectedFault(129_000, "spot_taken", 0, whom=2, how=382),
        InjectedFault(146_000, "power_lost", 89_000, whom=87, how=565),
    ),
)  # fmt: skip

# What the world above came down to, where nothing fails: elastic trials of equal shape.
NEWCOMERS = Stored(
    _calm(
        replace(ELASTIC, preemption=True),
        _machines(1, 4),
        [
            _trial(4, 0, 73_000, (1, 4), None, stop_ms=5_000),
            _trial(1, 4_000, 65_000, 1, 10, checkpoint_ms=20_000),
            _trial(7, 7_000, 89_000, (1, 3), 10, stop_ms=5_000),
            _trial(0, 22_000, 59_000, 2, 10),
            _trial(6, 22_000, 74_000, (1, 4), 10),
        ],
    )
)
RESIZED = Stored(
    _calm(
        ELASTIC,
        _machines(2, 2, 4),
        [
            _trial(0, 0, 42_000, (1, 2), None, stop_ms=5_000),
            _trial(5, 14_000, 13_000, (1, 2), 50),
            _trial(4, 22_000, 74_000, (1, 2), None, launch_ms=3_000),
            _trial(1, 23_000, 38_000, 4, None),
        ],
    )
)
NARROW = Stored(
    _calm(
        ELASTIC,
        _machines(1, 4),
        [
            _trial(4, 0, 28_000, (1, 4), None, stop_ms=5_000),
            _trial(3, 21_000, 37_000, 3, None, stop_ms=5_000),
            _trial(7, 38_000, 58_000, (1, 2), None, stop_ms=5_000),
            _trial(1, 41_000, 74_000, (1, 2), 10, stop_ms=5_000),
        ],
    )
)
WORLDS: Mapping[str, Stored] = {
    "a booking of slots": BOOKED,
    "shares of elastic trials on their way": SHARES_ON_THEIR_WAY,
    "elastic newcomers": NEWCOMERS,
    "elastic trials that were resized": RESIZED,
    "elastic trials on narrow machines": NARROW,
}
