"""Read a search's journal: rebuild the search from its entries, and compare each recorded decision with a new one."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from muster.config import ExperimentConfig
from services.searcher.core.editing import SearchEdit
from services.searcher.core.journal.entries import Entry, Facts, Kind
from services.searcher.core.journal.entry_codec import (
    read_holding,
    read_ledger_opening,
    read_number,
    read_opening,
    read_operations,
    read_result,
    read_suggestions,
    read_whole,
    write_actions,
    write_decision,
    write_operation_result,
)
from services.searcher.core.methods.interface import TrialEnding
from services.searcher.core.search.prior_observations import PriorObservations
from services.searcher.core.search.search import Search
from shared.ids import PoolName

MAX_VALUE_CHARS = 300
"""Maximum number of characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """The first decision that a replay makes differently. `facts` are those of the entry."""

    position: int
    kind: Kind
    facts: Facts
    recorded: Facts
    recomputed: Facts

    def describe(self) -> str:
        """Return a message that names the decision and each field that differs."""
        trial = f" of trial {self.facts['trial']}" if "trial" in self.facts else ""
        parts = (
            f"'{key}' was recorded as {_quoted(self.recorded[key])} and is recomputed as {_quoted(value)}"
            for key, value in self.recomputed.items()
            if self.recorded[key] != value
        )
        return f"decision {self.position} ('{self.kind}'{trial}) differs: {'; '.join(parts)}"


def recompute(search: Search, entry: Entry) -> Facts:
    """Apply the event of `entry` to `search` and return the decision that it makes now, with the recorded points."""
    facts = entry.facts
    search.restore_suggestions(read_suggestions(facts))
    if search.spending.is_counting:
        search.spending.advance_time(read_whole(facts, "at_ms"))
    match entry.kind:
        case "warm_started":
            search.add_prior_observations(PriorObservations.from_facts(facts))
        case "started":
            limits, price = read_opening(facts)
            rules = read_whole(facts, "rules") if "rules" in facts else 0
            return write_actions(search.start(limits, price, rules))
        case "judged":
            value = facts["value"]
            decision = search.judge(
                read_whole(facts, "trial"),
                math.nan if value is None else read_number(facts, "value"),
                read_number(facts, "time"),
            )
            return write_decision(decision)
        case "parked":
            return write_actions(search.on_parked(read_whole(facts, "trial")))
        case "ended":
            return write_actions(
                search.on_ended(read_whole(facts, "trial"), TrialEnding(str(facts["ending"])))
            )
        case "observed":
            search.observe(read_whole(facts, "trial"), read_result(facts))
        case "checkpoint_stored":
            search.on_stored(read_whole(facts, "trial"))
        case "widened":
            return write_actions(search.widen(read_whole(facts, "limit")))
        case "edited":
            changes: Any = facts["changes"]
            lifted = tuple(changes.get("lifted", ()))
            return write_actions(
                search.edit(SearchEdit(**{**changes, "lifted": lifted}), read_ledger_opening(facts))
            )
        case "operations_applied":
            return write_operation_result(search.apply_operations(read_operations(facts)))
        case "granted" | "released":
            search.spending.on_holding(
                read_whole(facts, "trial"), read_whole(facts, "run"), read_holding(facts)
            )
        case "price_changed":
            search.spending.on_price(PoolName(str(facts["pool"])), read_number(facts, "price"))
        case "limit_reached":
            return {"limit": search.spending.reached(bool(facts["is_stopping"]))}
        case "paused" | "stopping":
            search.pause()
        case "resumed":
            return write_actions(search.resume())
        case "finished":
            pass
    return {}


def fold(search: Search, entries: Iterable[Entry]) -> int:
    """Apply `entries` to `search` and return the last position, 0 if there are none."""
    position = 0
    for entry in entries:
        recompute(search, entry)
        position = entry.position
    return position


def compare(search: Search, entry: Entry) -> EntryDifference | None:
    """Apply an entry to `search` and return how the new decision differs from the recorded one, or None."""
    decided = recompute(search, entry)
    if all(entry.facts.get(key) == value for key, value in decided.items()):
        return None
    recorded = {key: entry.facts.get(key) for key in decided}
    return EntryDifference(entry.position, entry.kind, entry.facts, recorded, decided)


def replay(config: ExperimentConfig, seed: int, entries: Iterable[Entry]) -> EntryDifference | None:
    """Replay a journal from the start; return the first difference, or None."""
    search = Search(config, seed)
    return next((found for entry in entries if (found := compare(search, entry)) is not None), None)


def _quoted(value: JsonValue) -> str:
    text = json.dumps(value)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"
