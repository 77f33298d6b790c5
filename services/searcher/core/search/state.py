"""Save and restore the state of a search, to skip replaying a long journal."""

from typing import Any

from pydantic import JsonValue

from services.searcher.core.samplers.domain import Domain
from services.searcher.core.search.search import Search
from services.searcher.core.search.serialization import NotSerializable, from_json, to_json


def save_state(search: Search) -> JsonValue:
    """Return the state, or None if only the journal can restore it because the sampler keeps a model."""
    own = vars(search)
    if own["_sampler"].remembers:
        return None
    try:
        return to_json(own, _fixed(own))
    except NotSerializable:
        return None


def restore_state(search: Search, state: JsonValue) -> None:
    """Set a new search of the same config and seed to a saved state. Raises Broken for other data."""
    own = vars(search)
    own.update(from_json(state, _fixed(own)))


def _fixed(own: dict[str, Any]) -> tuple[object, ...]:
    """Objects that follow from config and seed and never change."""
    config = own["_config"]
    return config, config.searcher, Domain.of(config), own["_objectives"], own["_sampler"]
