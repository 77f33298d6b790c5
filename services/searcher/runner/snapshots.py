"""Serialized states of searches, and which code may read them.

A state is a cache of the journal. Only the same code that saved it reads it; any other code replays the journal. So
states need no versions.
"""

import zlib
from functools import cache
from hashlib import sha256
from pathlib import Path

import orjson

import muster.config
import services.searcher.core
from services.searcher.core.search.search import Search
from services.searcher.core.search.state import restore_state, save_state

PART = 8


def is_due(position: int, saved: int, every: int) -> bool:
    """Whether enough entries have been added since the last saved state.

    The threshold is `every`, or an eighth of all entries if that is more, so that saving takes a bounded share of the
    time however long the search is.
    """
    return position - saved >= max(every, position // PART)


def pack(search: Search) -> bytes | None:
    """Return the state, or None if the search has none that can be saved."""
    state = save_state(search)
    return None if state is None else zlib.compress(orjson.dumps(state), 1)


def unpack(state: bytes) -> bytes:
    """Return the state as JSON."""
    return zlib.decompress(state)


def restore(search: Search, state: bytes) -> None:
    """Restore what `pack` returned into a new search. Raises Broken for other bytes."""
    restore_state(search, orjson.loads(unpack(state)))


@cache
def code() -> str:
    """Return a fingerprint of the code that affects decisions."""
    digest = sha256()
    for package in (services.searcher.core, muster.config):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
