"""How long a search takes to find what is good: 1,000 configurations of a real network, trained once (`quality/make_table.py`), are replayed on
simulated clusters of 1, 4, 16 and 64 slots, under our searches and the peers' decision classes (`make peers`).

The figure of a run is the time until a validation is as good as the 5th best configuration's after epoch 81. Beside each way to
halve stands the same one ranked perfectly: told at every rung what trials come to in the end. The fastest of these is the bound.

`python -m tests.bench.search_quality [--seeds N] [--other-seeds N] [--slots N] [--figure FILE.svg] [--results FILE [--time-limit S]]`; 30 seeds take ten to fifteen minutes on two
cores that have nothing else to do. What `--results` holds is not played again, so it may be stopped and go on, and be played in pieces.
"""

import argparse
import math
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures.search_times import draw
from tests.bench.harness import RESAMPLES, Figures, Report, median_interval, percentile, run
from tests.bench.kept import OPTIONS
from tests.bench.quality.ours import LADDERS, METHODS, PERFECT
from tests.bench.quality.plays import PEERS, Class, play_all
from tests.bench.quality.table import load_table

CLUSTERS = (1, 4, 16, 64)
JUDGED = 16
SEEDS = 30
RANDOM, DEFAULT, LEARNING = "random", "adaptive_asha", "adaptive_asha, tpe"
OURS = tuple(Class(name, learns="tpe" in name) for name in METHODS)
BOUNDS = tuple(Class(name + PERFECT) for name in LADDERS)
PEER_CLASSES = (
    Class("Optuna TPE, median", is_peer=True, learns=True),
    Class("Optuna TPE, hyperband", is_peer=True, learns=True),
    Class("Ray Tune ASHA", is_peer=True),
    Class("syne-tune ASHA", is_peer=True),
    Class("syne-tune BOHB", is_peer=True, learns=True),
)


@dataclass(frozen=True, slots=True)
class Times:
    """How long a class took on one cluster: every run, the median of all and its 95 % interval; a run that never got there took infinitely long."""

    seconds: Sequence[float]
    median_s: float
    low_s: float
    high_s: float


Found = Mapping[tuple[str, int], Times]


def measure(report: Report) -> Figures:
    chosen = _chosen()
    table = load_table()
    peers = PEER_CLASSES if PEERS.exists() else ()
    if not peers:
        report.say("the peers are not installed (make peers): left out")
    clusters = {
        slots: chosen.seeds if slots == JUDGED else chosen.other_seeds or chosen.seeds
        for slots in chosen.slots
    }
    report.inputs(rows=len(table.accuracy), goal=round(table.goal, 4), seeds_by_slots=clusters)
    runs = play_all((*OURS, *BOUNDS, *peers), clusters, chosen.results, chosen.time_limit)
    found = {key: summarise([each.seconds for each in of_class]) for key, of_class in runs.items()}
    for slots in chosen.slots:
        _tell(report, found, slots)
    if chosen.figure:
        shown = [played.name for played in (*OURS, *peers)]
        bars = {name: {slots: _bar(found[name, slots]) for slots in chosen.slots} for name in shown}
        bounds = {slots: _fastest(found, BOUNDS, slots).median_s for slots in chosen.slots}
        chosen.figure.write_text(draw(bars, bounds, {played.name for played in peers}))
    medians: dict[str, dict[str, float]] = {played.name: {} for played in (*OURS, *BOUNDS, *peers)}
    for (name, slots), times in found.items():
        if math.isfinite(times.median_s):
            medians[name][str(slots)] = times.median_s
    return {"median_s": medians, **(_judge(report, found, peers) if JUDGED in chosen.slots else {})}


def summarise(seconds: Sequence[float | None]) -> Times:
    times = [math.inf if each is None else each for each in seconds]
    return Times(times, *median_interval(times))


def speedup(times: Times, than: Times, seed: int = 1) -> tuple[float, float, float]:
    """Return how many times as long `than` takes in the median, with the bootstrap's 95 % interval."""
    generator = random.Random(seed)

    def median(of: Times) -> float:
        return statistics.median(generator.choices(of.seconds, k=len(of.seconds)))

    factors = [median(than) / median(times) for _ in range(RESAMPLES)]
    return than.median_s / times.median_s, percentile(factors, 0.025), percentile(factors, 0.975)


def _judge(report: Report, found: Found, peers: Sequence[Class]) -> Figures:
    """The default against random search, the bound and the best peer. Behind is who is so beyond chance."""
    ours, bound = found[DEFAULT, JUDGED], _fastest(found, BOUNDS, JUDGED)
    share = bound.median_s / ours.median_s
    report.check("below_half_of_bound", False, share < 0.5)
    figures: Figures = {
        "bound_share_16": share,
        "speedup_vs_random_16": speedup(ours, found[RANDOM, JUDGED])[0],
        "speedup_vs_best_peer_16": None,
    }
    if peers:
        factor, low, high = speedup(ours, _fastest(found, peers, JUDGED))
        report.say(f"{DEFAULT} is {factor:.2f} ({low:.2f} to {high:.2f}) times as fast as the best peer")
        report.check("behind_a_peer", False, high < 1)
        figures["speedup_vs_best_peer_16"] = factor
        factor, low, high = speedup(found[LEARNING, JUDGED], _fastest(found, peers, JUDGED))
        report.say(f"{LEARNING} is {factor:.2f} ({low:.2f} to {high:.2f}) times as fast as the best peer")
        figures["learning_speedup_vs_best_peer_16"] = factor
    return figures


def _tell(report: Report, found: Found, slots: int) -> None:
    """One line for each class, as the table of the documentation has them."""
    report.say(f"| {slots} slots | median, s | 95 % | than random | share of the bound |")
    bound = _fastest(found, BOUNDS, slots)
    for (name, of_slots), times in found.items():
        if of_slots == slots:
            factor, low, high = speedup(times, found[RANDOM, slots])
            report.say(
                f"| {name} | {times.median_s:.3f} | {times.low_s:.3f} to {times.high_s:.3f} "
                f"| {factor:.2f} ({low:.2f} to {high:.2f}) | {bound.median_s / times.median_s:.2f} |"
            )


def _fastest(found: Found, classes: Sequence[Class], slots: int) -> Times:
    return min((found[played.name, slots] for played in classes), key=lambda times: times.median_s)


def _bar(times: Times) -> tuple[float, float, float]:
    return times.low_s, times.median_s, times.high_s


def _chosen() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="search_quality", parents=[OPTIONS])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--other-seeds", type=int, help=f"on clusters of other than {JUDGED} slots")
    parser.add_argument("--slots", type=int, action="append")
    parser.add_argument("--figure", type=Path)
    chosen = parser.parse_args()
    chosen.slots = chosen.slots or CLUSTERS
    return chosen


if __name__ == "__main__":
    run("search_quality", measure)
