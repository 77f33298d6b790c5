"""What other services ask of the searcher."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from muster.config import load_config
from services.searcher.core.samplers import check_space
from services.searcher.replaying import Replays
from services.searcher.store import entities
from shared.bus import Ask
from shared.bus.responder import Answer, Question
from shared.db import Database
from shared.errors import NotFound
from shared.messages.experiments import (
    Accepted,
    GetJournal,
    GetReferences,
    JournalEntry,
    JournalPage,
    Referenced,
    ReplayExperiment,
    ValidateConfig,
)

MOST_ENTRIES = 1000
PAGE_BYTES = 400 * 1024


@dataclass(frozen=True, slots=True)
class Queries:
    """Answers `qry.v1.searcher.*`; none of them changes anything."""

    database: Database
    replays: Replays

    def answers(self) -> Mapping[Question, Answer]:
        return {
            ValidateConfig: self.on_validate,
            GetJournal: self.on_journal,
            GetReferences: self.on_references,
            ReplayExperiment: self.replays.on_replay,
        }

    async def on_validate(self, _: Ask, query: ValidateConfig) -> Accepted:
        """Raise Rejected with the place, or accept."""
        await asyncio.to_thread(check_space, load_config(query.config))
        return Accepted()

    async def on_journal(self, ask: Ask, query: GetJournal) -> JournalPage:
        """Return a page of decisions, at most as many as fit into a reply."""
        limit = max(1, min(query.limit, MOST_ENTRIES))
        async with self.database.tenant(ask.tenant) as connection:
            if not await entities.has_experiment(connection, query.experiment_id):
                raise NotFound(f"experiment {query.experiment_id}")
            found = await entities.load_journal(connection, query.experiment_id, query.after, limit + 1)
        entries: list[JournalEntry] = []
        size = 0
        for entry, at in found[:limit]:
            size += len(orjson.dumps(entry.facts)) + 100
            if entries and size > PAGE_BYTES:
                break
            entries.append(JournalEntry(position=entry.position, at=at, kind=entry.kind, facts=entry.facts))
        more = len(entries) < len(found)
        return JournalPage(entries=tuple(entries), next=entries[-1].position if more and entries else None)

    async def on_references(self, ask: Ask, query: GetReferences) -> Referenced:
        """Return those checkpoints that trials of a live experiment start from."""
        async with self.database.tenant(ask.tenant) as connection:
            found = await entities.load_references(connection, query.checkpoints)
        return Referenced(checkpoints=found)
