"""Searches in memory, by (experiment, journal position); what is missing is read from the journal."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from muster.config import ExperimentConfig, load_config
from services.searcher.core.entities import Experiment
from services.searcher.core.journal import fold
from services.searcher.core.search import Search
from services.searcher.store import entities
from services.searcher.store.entities import Submission
from shared.bus import Unit
from shared.ids import ExperimentId


@dataclass(slots=True)
class Loaded:
    """A search as it is at `position` of its journal, with what the experiment was made from."""

    submission: Submission
    config: ExperimentConfig
    search: Search
    position: int = 0


class Searches:
    """Lends a search to one unit of work at a time; it comes back only if that unit commits.

    A search that was advanced in a transaction which failed is dropped, and folded anew from the journal.
    Whoever borrows holds the experiment's row lock.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[ExperimentId, Loaded] = OrderedDict()
        self._lent: WeakKeyDictionary[Unit, dict[ExperimentId, Loaded]] = WeakKeyDictionary()

    async def borrow(self, unit: Unit, experiment: Experiment) -> Loaded:
        """Return the experiment's search at exactly its journal's present end."""
        lent = self._lends(unit)
        if (loaded := lent.get(experiment.id)) is None:
            loaded = self._kept.pop(experiment.id, None)
            if loaded is None or loaded.position > experiment.position:
                loaded = await _begin(unit, experiment.id)
            lent[experiment.id] = loaded
        if loaded.position < experiment.position:
            tail = await entities.load_journal(unit.connection, experiment.id, loaded.position)
            # In a thread: a long journal, and a sampler that learns, take longer than others should wait.
            loaded.position = await asyncio.to_thread(fold, loaded.search, [entry for entry, _ in tail])
        return loaded

    def lend_new(self, unit: Unit, loaded: Loaded) -> None:
        """Take in the search of an experiment made in this unit."""
        self._lends(unit)[loaded.submission.id] = loaded

    def _lends(self, unit: Unit) -> dict[ExperimentId, Loaded]:
        if unit not in self._lent:
            self._lent[unit] = {}
            unit.then(lambda: self._take_back(unit))
        return self._lent[unit]

    async def _take_back(self, unit: Unit) -> None:
        for experiment_id, loaded in self._lent.pop(unit).items():
            other = self._kept.get(experiment_id)
            if other is None or other.position <= loaded.position:
                self._kept[experiment_id] = loaded
                self._kept.move_to_end(experiment_id)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


async def _begin(unit: Unit, experiment_id: ExperimentId) -> Loaded:
    submission = await entities.load_submission(unit.connection, experiment_id)
    config = load_config(submission.config)
    return await begin_search(submission, config)


async def begin_search(submission: Submission, config: ExperimentConfig) -> Loaded:
    """Return a search at its beginning; the first one with a model imports it. Raises Rejected where its space has no point."""
    return Loaded(submission, config, await asyncio.to_thread(Search, config, submission.seed))
