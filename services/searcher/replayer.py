"""`python -m services.searcher.replayer`: a search and its journal on standard input, on standard output whether it decides the same.

A process of its own, and a patient one: deciding a long search again must not hold up those that go on.
"""

import os
import sys
from collections.abc import Iterable

import orjson

from muster.config import load_config
from services.searcher.core.journal import Entry, compare
from services.searcher.core.search import Search

NICE = 10


def main() -> None:
    """Read a line with config and seed, then entries; write one line as soon as one differs, or at the end."""
    os.nice(NICE)
    sys.stdout.buffer.write(decide_again(sys.stdin.buffer))


def decide_again(lines: Iterable[bytes]) -> bytes:
    """Return the fields of `Replayed` but for the number of decisions."""
    given, checked = iter(lines), 0
    told = orjson.loads(next(given))
    search = Search(load_config(told["config"]), told["seed"])
    for line in given:
        entry = Entry(**orjson.loads(line))
        checked += 1
        if (found := compare(search, entry)) is not None:
            difference = {
                "position": found.position,
                "kind": found.kind,
                "recorded": found.recorded,
                "recomputed": found.recomputed,
                "said": found.in_words(),
            }
            return orjson.dumps({"checked": checked, "difference": difference})
    return orjson.dumps({"checked": checked})


if __name__ == "__main__":
    main()
