"""Samples a second of a two-rank Horovod training on the platform against bare `horovodrun`, in pairs that take turns.

And the processor time of everything that is not a rank (servers, services, daemons, warm parents) as a part of the ranks', while they train.
"""

from pydantic import JsonValue

from tests.bench.embedded import TRIALS, platform
from tests.bench.harness import Figures, Report, median_interval, run
from tests.bench.pairs import cpu_fraction, train_bare, train_inside

PAIRS = 15
STEPS = 200


def measure(report: Report) -> Figures:
    report.inputs(pairs=PAIRS, steps=STEPS, ranks=2, workers=2, reports_every_steps=10)
    hparams: dict[str, JsonValue] = {"steps": STEPS}
    short: dict[str, JsonValue] = {"steps": 1}
    with platform(workers=2) as bench:
        code = bench.client.experiments.put_code(TRIALS)
        unseen_s = train_inside(bench, code, hparams, 2).took_s
        unseen_short_s = train_inside(bench, code, short, 2).took_s
        ratios, insides, shorts = [], [], []
        for pair in range(PAIRS):
            bare = train_bare(hparams, 2)
            inside = train_inside(bench, code, hparams, 2, unseen_s)
            ratios.append(inside.samples_per_s / bare)
            insides.append(inside)
            if pair % 3 == 0:
                shorts.append(train_inside(bench, code, short, 2, unseen_short_s))
            report.say(
                f"pair {pair + 1}: bare {bare:.0f}/s, platform {inside.samples_per_s:.0f}/s, ratio {ratios[-1]:.3f}"
            )
    median, low, high = median_interval(ratios)
    report.check("lost", 0, PAIRS - len(ratios))
    return {
        "ratio": median,
        "ratio_low": low,
        "ratio_high": high,
        "cpu_fraction": cpu_fraction(shorts, insides),
    }


if __name__ == "__main__":
    run("overhead", measure)
