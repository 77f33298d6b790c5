"""Replay a search and its journal from standard input, and report the first difference on standard output.

It is a separate process with low priority, because replaying a long search must not delay running ones.
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
    """Read a line with config and seed, then entries. Write one line at the first difference or at the end."""
    os.nice(NICE)
    sys.stdout.buffer.write(decide_again(sys.stdin.buffer))


def decide_again(lines: Iterable[bytes]) -> bytes:
    """Return the fields of `Replayed` except the number of decisions."""
    given, checked = iter(lines), 0
    request = orjson.loads(next(given))
    search, saved = Search(load_accepted(request["config"]), request["seed"]), request.get("saved")
    for line in given:
        entry = Entry(**orjson.loads(line))
        checked += 1
        found = compare(search, entry)
        if found is not None:
            message = found.describe()
        elif saved and saved["position"] == entry.position and _state(search) != saved["state"]:
            found = EntryDifference(entry.position, entry.kind, entry.facts, {}, {})
            message = f"the state saved after decision {entry.position} differs from the replayed state"
        else:
            continue
        difference = {
            "position": found.position,
            "kind": found.kind,
            "recorded": found.recorded,
            "recomputed": found.recomputed,
            "summary": message,
        }
        return orjson.dumps({"checked": checked, "difference": difference})
    return orjson.dumps({"checked": checked})


def _state(search: Search) -> JsonValue:
    """Return the state as it is stored."""
    state: JsonValue = orjson.loads(orjson.dumps(save_state(search)))
    return state


if __name__ == "__main__":
    main()
