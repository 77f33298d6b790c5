"""Cache of searches by experiment. A missing search is rebuilt from its last saved state and the journal after it."""

import asyncio
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from muster.config import ExperimentConfig, load_accepted
from services.searcher.core.experiment.entities import ExperimentRecord
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
"""Most journal entries in memory at a time."""


@dataclass(slots=True)
class LoadedSearch:
    """A search at `position` of its journal, with its submission and config. Its state was last saved at `saved`."""

    submission: Submission
    config: ExperimentConfig
    search: Search
    position: int = 0
    saved: int = 0


class SearchCache:
    """Checks out a search to one unit of work at a time.

    The search returns to the cache only if the unit commits. If the transaction fails, it is dropped and rebuilt from
    the journal. The caller must hold the experiment's row lock.
    """

    def __init__(self, max_searches: int, save_every: int) -> None:
        self._save_every = save_every
        self._cache = Cache[ExperimentId, LoadedSearch]("searches", max_searches)
        self._checked_out: WeakKeyDictionary[Unit, dict[ExperimentId, LoadedSearch]] = WeakKeyDictionary()

    async def check_out(self, unit: Unit, experiment: ExperimentRecord) -> LoadedSearch:
        """Return the experiment's search at exactly the current end of its journal."""
        checked_out = self._checked_out_by(unit)
        if (loaded := checked_out.get(experiment.id)) is None:
            loaded = self._cache.get(experiment.id)
            self._cache.pop(experiment.id)
            if loaded is None or loaded.position > experiment.position:
                loaded = await _begin(unit, experiment)
            checked_out[experiment.id] = loaded
        while loaded.position < experiment.position:
            tail = await entities.load_journal(unit.connection, experiment.id, loaded.position, PAGE)
            # In a thread, because a long journal or a learning sampler would block the event loop.
            loaded.position = await asyncio.to_thread(fold, loaded.search, [entry for entry, _ in tail])
        return loaded

    async def save(self, unit: Unit, loaded: LoadedSearch) -> None:
        """Save a long search's state from time to time, in the transaction that advanced it."""
        if not snapshots.is_due(loaded.position, loaded.saved, self._save_every):
            return
        state = await asyncio.to_thread(snapshots.pack, loaded.search)
        if state is not None:
            made = Snapshot(loaded.position, snapshots.code(), state)
            await save_snapshot(unit.connection, loaded.submission.tenant, loaded.submission.id, made)
        loaded.saved = loaded.position

    def check_out_new(self, unit: Unit, loaded: LoadedSearch) -> None:
        """Check out the search of an experiment created in this unit."""
        self._checked_out_by(unit)[loaded.submission.id] = loaded

    def _checked_out_by(self, unit: Unit) -> dict[ExperimentId, LoadedSearch]:
        if unit not in self._checked_out:
            self._checked_out[unit] = {}
            unit.after_commit(lambda: self._return(unit))
        return self._checked_out[unit]

    async def _return(self, unit: Unit) -> None:
        for experiment_id, loaded in self._checked_out.pop(unit).items():
            self._cache.put(experiment_id, loaded)


async def _begin(unit: Unit, experiment: ExperimentRecord) -> LoadedSearch:
    submission = await entities.load_submission(unit.connection, experiment.id)
    config = load_accepted(submission.config)
    loaded = await begin_search(submission, config)
    snapshot = await load_snapshot(unit.connection, experiment.id, snapshots.code(), experiment.position)
    if snapshot is not None:
        await asyncio.to_thread(snapshots.restore, loaded.search, snapshot.state)
        loaded.position = loaded.saved = snapshot.position
    return loaded


async def begin_search(submission: Submission, config: ExperimentConfig) -> LoadedSearch:
    """Return a new search. The first one with a model imports it. Raises Rejected if its space has no point."""
    return LoadedSearch(submission, config, await asyncio.to_thread(Search, config, submission.seed))
