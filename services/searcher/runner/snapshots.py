"""A search's state in bytes, and which code may read it.

A state is a cache: the journal is the truth. So it is taken up only by the very code that has saved it, and by any other the journal is
folded; nobody has to think of versions.
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
    """Whether the entries since the last state are many enough for a new one: `every`, or an eighth of all where that is more, so that
    saving takes its share of the time and no more however long the search is."""
    return position - saved >= max(every, position // PART)


def pack(search: Search) -> bytes | None:
    """Return the state, or None where the search has none to be saved."""
    state = save_state(search)
    return None if state is None else zlib.compress(orjson.dumps(state), 1)


def unpack(state: bytes) -> bytes:
    """Return it as JSON."""
    return zlib.decompress(state)


def restore(search: Search, state: bytes) -> None:
    """Have a new search take up what `pack` returned. Raises Broken for other bytes."""
    restore_state(search, orjson.loads(unpack(state)))


@cache
def code() -> str:
    """Return the fingerprint of all that searches are decided by."""
    digest = sha256()
    for package in (services.searcher.core, muster.config):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(folder)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
