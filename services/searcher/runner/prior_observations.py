"""What a new search knows of earlier experiments: read from their tables once, at its submission."""

import asyncio
from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from muster.config import ExperimentConfig
from services.searcher.core.samplers import learns
from services.searcher.core.search.prior_observations import (
    NO_PRIOR_OBSERVATIONS,
    PriorObservations,
    select_prior_observations,
)
from services.searcher.store.prior_trials import load_earlier
from shared.errors import Rejected


async def load_prior_observations(
    connection: AsyncConnection, config: ExperimentConfig, workspace: str
) -> tuple[PriorObservations, tuple[str, ...]]:
    """Return what earlier experiments tell this search, and notes on what they do not.

    Raises:
        Rejected: The workspace has no experiment of a number that the config names.
    """
    named = prior_experiments_of(config)
    if not named:
        return NO_PRIOR_OBSERVATIONS, ()
    numbers = list(dict.fromkeys(named))
    found = await load_earlier(connection, workspace, numbers)
    for number in numbers:
        if number not in found:
            raise Rejected(
                "experiment_unknown",
                f"there is no experiment {number} in the workspace '{workspace}'",
                f"searcher.warm_start.experiments[{named.index(number)}]",
                "a search learns from experiments of its own workspace",
            )
    earlier = [found[number] for number in numbers]
    return await asyncio.to_thread(select_prior_observations, config, earlier, learns(config))


def prior_experiments_of(config: ExperimentConfig) -> Sequence[int]:
    """The numbers of the experiments that a config's search is to learn from; without any nothing needs to be read."""
    warm_start = getattr(config.searcher, "warm_start", None)
    return warm_start.experiments if warm_start is not None else ()
