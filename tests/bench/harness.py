"""What every benchmark does the same way: it prints its inputs, then its checks, then one JSON line, and fails when a check is off.

def measure(report: Report) -> Figures:
    report.inputs(trials=60, seed=7)
    …
    report.check("lost", 0, expected - seen)
    return {"per_trial_s": seconds / 60}

if __name__ == "__main__":
    run("turnaround", measure)
"""

import json
import math
import platform
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

import psutil

Figure = int | float | str | None | list[int] | list[float] | dict[str, dict[str, float]]
Figures = dict[str, Figure]

RESAMPLES = 2000


class Report:
    """What one benchmark says on its way."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.off: list[str] = []
        self.checked: Figures = {}
        self.say(
            f"benchmark {name} on {platform.machine()}, {psutil.cpu_count()} cores, Python {platform.python_version()}"
        )

    def say(self, text: str) -> None:
        """Print a line for people."""
        print(text, flush=True)

    def inputs(self, **values: object) -> None:
        """Print what the figures depend on: sizes, seeds, mix."""
        self.say("inputs: " + ", ".join(f"{name}={value}" for name, value in values.items()))

    def check(self, name: str, expected: Figure, found: Figure) -> None:
        """Compare; a benchmark with a check that is off fails, whatever its figures."""
        self.checked[name] = found
        self.say(f"check {name}: {found}" + ("" if found == expected else f", expected {expected}"))
        if found != expected:
            self.off.append(name)


def run(name: str, measure: Callable[[Report], Figures]) -> NoReturn:
    """Measure, print the JSON line, and exit: 0, or 1 when a check is off."""
    report = Report(name)
    figures = measure(report)
    if report.off:
        print(f"{name} failed: {', '.join(report.off)} off", file=sys.stderr, flush=True)
    rounded = {key: _rounded(value) for key, value in figures.items()}
    print(json.dumps({"name": name, **rounded, **report.checked}), flush=True)
    sys.exit(1 if report.off else 0)


def percentile(values: Sequence[float], part: float) -> float:
    """Return the smallest value that `part` (0 to 1) of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def median_interval(
    values: Sequence[float], seed: int = 1, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the median and its bootstrap interval (percentile method)."""
    generator = random.Random(seed)
    medians = [statistics.median(generator.choices(values, k=len(values))) for _ in range(RESAMPLES)]
    outside = (1 - confidence) / 2
    return statistics.median(values), percentile(medians, outside), percentile(medians, 1 - outside)


def _rounded(value: Figure) -> Figure:
    if isinstance(value, dict):
        return {row: {name: round(cell, 5) for name, cell in cells.items()} for row, cells in value.items()}
    return round(value, 5) if isinstance(value, float) else value
