"""Load the prior observations of a new search from earlier experiments, once, at its submission."""

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
    """Return the prior observations of a search, with notes on what it cannot use.

    Raises:
        Rejected: An experiment that the config names does not exist in the workspace.
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
                f"experiment {number} does not exist in workspace '{workspace}'",
                f"searcher.warm_start.experiments[{named.index(number)}]",
                "warm_start uses only experiments of the same workspace",
            )
    earlier = [found[number] for number in numbers]
    return await asyncio.to_thread(select_prior_observations, config, earlier, learns(config))


def prior_experiments_of(config: ExperimentConfig) -> Sequence[int]:
    """Return the numbers of the experiments that a config names for its prior observations."""
    warm_start = getattr(config.searcher, "warm_start", None)
    return warm_start.experiments if warm_start is not None else ()
