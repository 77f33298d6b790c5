"""Samples a second on the platform against bare `horovodrun`, for three sizes of models on one and two ranks, in pairs that take turns.

`OVERHEAD_CASES=small:1,large:2` measures some of the cases. All of them take twenty minutes: `python -m tests.bench.overhead_models
--kept FILE --piece-s 200`, again and again, plays them in pieces, a pair of each case in turn.
"""

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pydantic import JsonValue

from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, median_interval, run
from tests.bench.kept import OPTIONS, Outcome, play_parts
from tests.bench.pairs import Inside, cpu_fraction, train_bare, train_inside

PAIRS = 15
STEPS = {
    ("small", 1): 1500,
    ("small", 2): 500,
    ("middle", 1): 120,
    ("middle", 2): 100,
    ("large", 1): 14,
    ("large", 2): 12,
}
"""So many take some three seconds."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model on so many ranks."""

    model: str
    ranks: int

    def __str__(self) -> str:
        return f"{self.model}:{self.ranks}"


@dataclass(frozen=True, slots=True)
class Pair:
    """One training bare and one on the platform."""

    number: int
    case: Case

    def __str__(self) -> str:
        return f"{self.case} {self.number}"


@dataclass(slots=True)
class Player:
    """Plays pairs on one platform."""

    bench: Platform
    report: Report
    code: str
    took_s: dict[str, float] = field(default_factory=dict)
    """How long the last training of each case was on the platform: nobody asks for its state so long."""

    def play(self, pair: Pair) -> Outcome:
        """Which of the two begins alternates, so that what drifts meets both alike; each third has a short training beside it."""
        case = pair.case
        hparams: dict[str, JsonValue] = {"model": case.model, "steps": STEPS[case.model, case.ranks]}
        before = train_bare(hparams, case.ranks) if pair.number % 2 == 0 else None
        inside = self._train(f"{case}", hparams, case.ranks)
        bare = train_bare(hparams, case.ranks) if before is None else before
        is_third = pair.number % 3 == 0
        short = self._train(f"{case} short", hparams | {"steps": 1}, case.ranks) if is_third else None
        self.report.say(f"{pair}: bare {bare:.0f}/s, ratio {inside.samples_per_s / bare:.3f}")
        return {
            "bare": bare,
            "inside": inside._asdict(),
            "short": short._asdict() if short else None,
        }

    def _train(self, name: str, hparams: dict[str, JsonValue], ranks: int) -> Inside:
        inside = train_inside(self.bench, self.code, hparams, ranks, self.took_s.get(name, 0.0))
        self.took_s[name] = inside.took_s
        return inside


def measure(report: Report) -> Figures:
    chosen = argparse.ArgumentParser(parents=[OPTIONS]).parse_args()
    cases = _chosen(os.environ.get("OVERHEAD_CASES", ""))
    report.inputs(pairs=PAIRS, workers=2, cases=" ".join(map(str, cases)))
    pairs = [Pair(number, case) for number in range(PAIRS) for case in cases]
    with platform(workers=2) as bench, ThreadPoolExecutor(1) as one_by_one:
        player = Player(bench, report, bench.client.experiments.put_code(TRIALS))
        outcomes = play_parts(one_by_one, player.play, pairs, chosen.kept, chosen.piece_s)
    rows: dict[str, dict[str, float]] = {}
    for case in cases:
        found = [one for pair, one in zip(pairs, outcomes, strict=True) if pair.case == case]
        rows[str(case)] = _row(found)
        report.check(f"pairs of {case}", PAIRS, len(found))
    return {
        "ratio": min(row["ratio"] for row in rows.values()),
        "cpu_fraction": max(row["cpu_fraction"] for row in rows.values()),
        "cases": rows,
    }


def _row(found: list[Outcome]) -> dict[str, float]:
    """A case's ratio with its interval, and the processor time of what is not a rank as a part of the ranks'."""
    median, low, high = median_interval([one["inside"]["samples_per_s"] / one["bare"] for one in found])
    shorts = [Inside(**one["short"]) for one in found if one["short"]]
    fraction = cpu_fraction(shorts, [Inside(**one["inside"]) for one in found])
    return {"ratio": median, "low": low, "high": high, "cpu_fraction": fraction}


def _chosen(text: str) -> list[Case]:
    known = {f"{model}:{ranks}": Case(model, ranks) for model, ranks in STEPS}
    try:
        return [known[name] for name in text.split(",")] if text else list(known.values())
    except KeyError as error:
        raise SystemExit(f"OVERHEAD_CASES: {error} is none of {', '.join(known)}") from None


if __name__ == "__main__":
    run("overhead_models", measure)
