"""`python -m services.searcher.runner.replayer`: a search and its journal on standard input, on standard output whether it decides the same.

A process of its own, and a patient one: deciding a long search again must not hold up those that go on.
"""

import os
import sys
from collections.abc import Iterable

import orjson
from pydantic import JsonValue

from muster.config import load_accepted
from services.searcher.core.journal.entries import Entry
from services.searcher.core.journal.replay import EntryDifference, compare
from services.searcher.core.search.search import Search
from services.searcher.core.search.state import save_state

NICE = 10


def main() -> None:
    """Read a line with config and seed, then entries; write one line as soon as one differs, or at the end."""
    os.nice(NICE)
    sys.stdout.buffer.write(decide_again(sys.stdin.buffer))


def decide_again(lines: Iterable[bytes]) -> bytes:
    """Return the fields of `Replayed` but for the number of decisions."""
    given, checked = iter(lines), 0
    told = orjson.loads(next(given))
    search, saved = Search(load_accepted(told["config"]), told["seed"]), told.get("saved")
    for line in given:
        entry = Entry(**orjson.loads(line))
        checked += 1
        found = compare(search, entry)
        if found is not None:
            said = found.in_words()
        elif saved and saved["position"] == entry.position and _state(search) != saved["state"]:
            found = EntryDifference(entry.position, entry.kind, entry.facts, {}, {})
            said = (
                f"the state that was saved after decision {entry.position} is not what the decisions come to"
            )
        else:
            continue
        difference = {
            "position": found.position,
            "kind": found.kind,
            "recorded": found.recorded,
            "recomputed": found.recomputed,
            "said": said,
        }
        return orjson.dumps({"checked": checked, "difference": difference})
    return orjson.dumps({"checked": checked})


def _state(search: Search) -> JsonValue:
    """As it is stored."""
    state: JsonValue = orjson.loads(orjson.dumps(save_state(search)))
    return state


if __name__ == "__main__":
    main()
