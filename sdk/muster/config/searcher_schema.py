"""Selects the schema of `searcher` by its name."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Tag

from muster.config.base_section import Section, did_you_mean, refusal
from muster.config.searchers import (
    AdaptiveAsha,
    AsyncHalving,
    Custom,
    Grid,
    Hyperband,
    MedianStopping,
    Pbt,
    Random,
    Single,
)

KINDS: Mapping[str, type[Section]] = {
    "single": Single,
    "random": Random,
    "grid": Grid,
    "async_halving": AsyncHalving,
    "adaptive_asha": AdaptiveAsha,
    "median_stopping": MedianStopping,
    "hyperband": Hyperband,
    "pbt": Pbt,
    "custom": Custom,
}


def _named(value: object) -> object:
    """Refuse a value without a valid searcher name."""
    if not isinstance(value, Mapping):
        if not isinstance(value, Section):
            raise refusal(
                "the searcher must be a mapping", hint="e.g. {name: random, metric: …, max_trials: 16}",
                code="invalid_type",
            )  # fmt: skip
        return value
    name, known = value.get("name"), f"choose from {', '.join(KINDS)}"
    if name is None:
        raise refusal("the key 'name' is missing", "name", hint=known, code="missing_key")
    if not isinstance(name, str) or name not in KINDS:
        hint = did_you_mean(str(name), KINDS) or known
        raise refusal(f"unknown searcher {name!r}", "name", hint=hint, code="unknown_searcher")
    return value


def _kind(value: object) -> str:
    name = value.get("name") if isinstance(value, Mapping) else getattr(value, "name", None)
    return f"<{name}>"


Searcher = Annotated[
    Annotated[Single, Tag("<single>")]
    | Annotated[Random, Tag("<random>")]
    | Annotated[Grid, Tag("<grid>")]
    | Annotated[AsyncHalving, Tag("<async_halving>")]
    | Annotated[AdaptiveAsha, Tag("<adaptive_asha>")]
    | Annotated[MedianStopping, Tag("<median_stopping>")]
    | Annotated[Hyperband, Tag("<hyperband>")]
    | Annotated[Pbt, Tag("<pbt>")]
    | Annotated[Custom, Tag("<custom>")],
    Discriminator(_kind),
    BeforeValidator(_named),
]
