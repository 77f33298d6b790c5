"""`python -m tests.bench.run NAME`: runs `tests/bench/NAME.py`, whose last line is one JSON object."""

import runpy
import sys
from pathlib import Path

MACHINERY = {
    "durable",
    "embedded",
    "fleet",
    "harness",
    "pairs",
    "kept",
    "large_site",
    "logs_site",
    "metrics_site",
    "metrics_trials",
    "run",
    "service_scale",
    "traffic",
    "turns",
}


def main(arguments: list[str]) -> int:
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in MACHINERY)
    if len(arguments) != 1 or arguments[0] not in names:
        print(f"usage: make bench NAME=…, one of: {', '.join(names)}", file=sys.stderr)
        return 2
    del sys.argv[1:]  # the name is ours: a benchmark that takes options would read it as one
    runpy.run_module(f"tests.bench.{arguments[0]}", run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
