"""Searches in memory, by (experiment, journal position); what is missing is read from the last saved state and the journal after it."""

import asyncio
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from muster.config import ExperimentConfig, load_accepted
from services.searcher.core.experiment.entities import Experiment
from services.searcher.core.journal.replay import fold
from services.searcher.core.search.search import Search
from services.searcher.runner import snapshots
from services.searcher.store import entities
from services.searcher.store.entities import Submission
from services.searcher.store.snapshots import Snapshot, load_snapshot, save_snapshot
from shared.bus import Unit
from shared.ids import ExperimentId
from shared.runtime.cache import Cache

PAGE = 10_000
"""So many entries of a journal are in memory at a time."""


@dataclass(slots=True)
class LoadedSearch:
    """A search as it is at `position` of its journal, with what the experiment was made from; at `saved` its state was last saved."""

    submission: Submission
    config: ExperimentConfig
    search: Search
    position: int = 0
    saved: int = 0


class SearchCache:
    """Lends a search to one unit of work at a time; it comes back only if that unit commits.

    A search that was advanced in a transaction which failed is dropped, and folded anew from the journal.
    Whoever borrows holds the experiment's row lock.
    """

    def __init__(self, max_searches: int, save_every: int) -> None:
        self._save_every = save_every
        self._cache = Cache[ExperimentId, LoadedSearch]("searches", max_searches)
        self._lent: WeakKeyDictionary[Unit, dict[ExperimentId, LoadedSearch]] = WeakKeyDictionary()

    async def borrow(self, unit: Unit, experiment: Experiment) -> LoadedSearch:
        """Return the experiment's search at exactly its journal's present end."""
        lent = self._lends(unit)
        if (loaded := lent.get(experiment.id)) is None:
            loaded = self._cache.get(experiment.id)
            self._cache.pop(experiment.id)
            if loaded is None or loaded.position > experiment.position:
                loaded = await _begin(unit, experiment)
            lent[experiment.id] = loaded
        while loaded.position < experiment.position:
            tail = await entities.load_journal(unit.connection, experiment.id, loaded.position, PAGE)
            # In a thread: a long journal, and a sampler that learns, take longer than others should wait.
            loaded.position = await asyncio.to_thread(fold, loaded.search, [entry for entry, _ in tail])
        return loaded

    async def save(self, unit: Unit, loaded: LoadedSearch) -> None:
        """Save a long search's state, now and then, with the transaction that has brought it there."""
        if not snapshots.is_due(loaded.position, loaded.saved, self._save_every):
            return
        state = await asyncio.to_thread(snapshots.pack, loaded.search)
        if state is not None:
            made = Snapshot(loaded.position, snapshots.code(), state)
            await save_snapshot(unit.connection, loaded.submission.tenant, loaded.submission.id, made)
        loaded.saved = loaded.position

    def lend_new(self, unit: Unit, loaded: LoadedSearch) -> None:
        """Take in the search of an experiment made in this unit."""
        self._lends(unit)[loaded.submission.id] = loaded

    def _lends(self, unit: Unit) -> dict[ExperimentId, LoadedSearch]:
        if unit not in self._lent:
            self._lent[unit] = {}
            unit.then(lambda: self._take_back(unit))
        return self._lent[unit]

    async def _take_back(self, unit: Unit) -> None:
        for experiment_id, loaded in self._lent.pop(unit).items():
            self._cache.put(experiment_id, loaded)


async def _begin(unit: Unit, experiment: Experiment) -> LoadedSearch:
    submission = await entities.load_submission(unit.connection, experiment.id)
    config = load_accepted(submission.config)
    loaded = await begin_search(submission, config)
    snapshot = await load_snapshot(unit.connection, experiment.id, snapshots.code(), experiment.position)
    if snapshot is not None:
        await asyncio.to_thread(snapshots.restore, loaded.search, snapshot.state)
        loaded.position = loaded.saved = snapshot.position
    return loaded


async def begin_search(submission: Submission, config: ExperimentConfig) -> LoadedSearch:
    """Return a search at its beginning; the first one with a model imports it. Raises Rejected where its space has no point."""
    return LoadedSearch(submission, config, await asyncio.to_thread(Search, config, submission.seed))
