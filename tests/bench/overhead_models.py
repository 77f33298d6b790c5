"""Samples a second on the platform against bare `horovodrun`, for three sizes of models on one and two ranks, in pairs that take turns.

`OVERHEAD_CASES=small:1,large:2` measures some of the cases: all of them take a quarter of an hour.
"""

import os

from pydantic import JsonValue

from tests.bench.embedded import TRIALS, Platform, platform
from tests.bench.harness import Figures, Report, median_interval, run
from tests.bench.pairs import Inside, train_bare, train_inside

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
    insides: list[Inside] = []
    with platform(workers=2) as bench:
        code = bench.client.experiments.put_code(TRIALS)
        for model, ranks in cases:
            ratios, seen = _pairs(bench, code, model, ranks)
            insides += seen
            median, low, high = median_interval(ratios)
            rows[f"{model}:{ranks}"] = {"ratio": median, "low": low, "high": high}
            report.say(f"{model}, {ranks} ranks: {median:.4f} ({low:.4f} to {high:.4f})")
    report.check("lost", 0, PAIRS * len(cases) - len(insides))
    others_s, ranks_s = sum(one.others_s for one in insides), sum(one.ranks_s for one in insides)
    return {
        "ratio": min(row["ratio"] for row in rows.values()),
        "cpu_fraction": others_s / ranks_s,
        "cases": rows,
    }


def _pairs(bench: Platform, code: str, model: str, ranks: int) -> tuple[list[float], list[Inside]]:
    """The ratios of all pairs; which of the two begins alternates, so that what drifts meets both alike."""
    hparams: dict[str, JsonValue] = {"model": model, "steps": STEPS[model, ranks]}
    train_inside(bench, code, hparams, ranks)
    ratios, insides = [], []
    for pair in range(PAIRS):
        before = train_bare(hparams, ranks) if pair % 2 == 0 else None
        inside = train_inside(bench, code, hparams, ranks)
        bare = train_bare(hparams, ranks) if before is None else before
        ratios.append(inside.samples_per_s / bare)
        insides.append(inside)
    return ratios, insides


def _chosen(text: str) -> list[tuple[str, int]]:
    known = {f"{model}:{ranks}": (model, ranks) for model, ranks in STEPS}
    try:
        return [known[name] for name in text.split(",")] if text else list(STEPS)
    except KeyError as error:
        raise SystemExit(f"OVERHEAD_CASES: {error} is none of {', '.join(known)}") from None


if __name__ == "__main__":
    run("overhead_models", measure)
