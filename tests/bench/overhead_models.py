"""Samples a second on the platform against bare `horovodrun`, for three sizes of models on one and two ranks, in pairs that take turns.

`OVERHEAD_CASES=small:1,large:2` measures some of the cases: all of them take a quarter of an hour.
"""

import os

from pydantic import JsonValue

from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, median_interval, run
from tests.bench.pairs import cpu_fraction, train_bare, train_inside

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


def measure(report: Report) -> Figures:
    cases = _chosen(os.environ.get("OVERHEAD_CASES", ""))
    report.inputs(pairs=PAIRS, workers=2, cases=" ".join(f"{model}:{ranks}" for model, ranks in cases))
    rows: dict[str, dict[str, float]] = {}
    fractions: list[float] = []
    with platform(workers=2) as bench:
        code = bench.client.experiments.put_code(TRIALS)
        for model, ranks in cases:
            ratios, fraction = _pairs(bench, code, model, ranks)
            fractions.append(fraction)
            median, low, high = median_interval(ratios)
            rows[f"{model}:{ranks}"] = {"ratio": median, "low": low, "high": high, "cpu_fraction": fraction}
            report.say(
                f"{model}, {ranks} ranks: {median:.4f} ({low:.4f} to {high:.4f}), processor {fraction:.2%}"
            )
            report.check("lost", 0, PAIRS - len(ratios))
    return {
        "ratio": min(row["ratio"] for row in rows.values()),
        "cpu_fraction": max(fractions),
        "cases": rows,
    }


def _pairs(bench: Platform, code: str, model: str, ranks: int) -> tuple[list[float], float]:
    """The ratios of all pairs, and the processor time of what is not a rank as a part of the ranks'.

    Which of the two begins alternates, so that what drifts meets both alike.
    """
    hparams: dict[str, JsonValue] = {"model": model, "steps": STEPS[model, ranks]}
    short = hparams | {"steps": 1}
    unseen_s = train_inside(bench, code, hparams, ranks).took_s
    unseen_short_s = train_inside(bench, code, short, ranks).took_s
    ratios, insides, shorts = [], [], []
    for pair in range(PAIRS):
        before = train_bare(hparams, ranks) if pair % 2 == 0 else None
        inside = train_inside(bench, code, hparams, ranks, unseen_s)
        bare = train_bare(hparams, ranks) if before is None else before
        ratios.append(inside.samples_per_s / bare)
        insides.append(inside)
        if pair % 3 == 0:
            shorts.append(train_inside(bench, code, short, ranks, unseen_short_s))
    return ratios, cpu_fraction(shorts, insides)


def _chosen(text: str) -> list[tuple[str, int]]:
    known = {f"{model}:{ranks}": (model, ranks) for model, ranks in STEPS}
    try:
        return [known[name] for name in text.split(",")] if text else list(STEPS)
    except KeyError as error:
        raise SystemExit(f"OVERHEAD_CASES: {error} is none of {', '.join(known)}") from None


if __name__ == "__main__":
    run("overhead_models", measure)
