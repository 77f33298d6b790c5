"""`make drill NAME=…`: tests that take too long for every run, whole; `make test` tries a share of each (`tests/support/drill_share.py`)."""

import os
import sys

import pytest

DRILLS = {
    "failover": (
        "tests/chaos",
        "tests/integration/bus/test_delivery.py",
        "tests/integration/provisioner/test_crashes.py",
        "tests/integration/registry/test_kills.py",
        "tests/integration/scheduler/test_leaders.py",
        "tests/integration/searcher/test_crashes.py",
    ),
    "fuzz": (
        "tests/integration/gateway/test_fuzz_grpc.py",
        "tests/integration/gateway/test_fuzz_rest.py",
        "tests/integration/gateway/test_odd_input.py",
        "tests/unit/gateway/test_operations.py",
    ),
    "simulation": (
        "tests/simulation",
        "tests/unit/searcher/test_every_method.py",
    ),
}
"""The paths that pytest runs, by the name of the drill."""


def main(arguments: list[str]) -> int:
    """Run one drill and return pytest's exit code; 2 for an unknown name."""
    if len(arguments) != 1 or arguments[0] not in DRILLS:
        print(f"usage: make drill NAME=…, one of: {', '.join(DRILLS)}", file=sys.stderr)
        return 2
    os.environ["FULL"] = "1"
    return int(pytest.main(["-q", "--tb", "native", *DRILLS[arguments[0]]]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
