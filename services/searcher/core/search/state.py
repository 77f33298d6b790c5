"""All that a search has come to, as plain data: what is saved beside a long journal."""

from typing import Any

from pydantic import JsonValue

from services.searcher.core.samplers.domain import Domain
from services.searcher.core.search.search import Search
from services.searcher.core.search.serialization import NotSerializable, from_json, to_json


def save_state(search: Search) -> JsonValue:
    """Return the state, or None where only the journal can give it back: with a sampler that keeps a model."""
    own = vars(search)
    if own["_sampler"].remembers:
        return None
    try:
        return to_json(own, _fixed(own))
    except NotSerializable:
        return None


def restore_state(search: Search, state: JsonValue) -> None:
    """Have a new search of the same config and seed be as the one that the state is of. Raises Broken for other data."""
    own = vars(search)
    own.update(from_json(state, _fixed(own)))


def _fixed(own: dict[str, Any]) -> tuple[object, ...]:
    """What follows from config and seed, and never changes."""
    config = own["_config"]
    return config, config.searcher, Domain.of(config), own["_objectives"], own["_sampler"]
