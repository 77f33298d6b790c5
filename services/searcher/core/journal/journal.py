"""The journal of a search: what happened and what was decided, enough to repeat it.

An entry holds an event (the facts that the search was told) together with the decision. `recompute` applies an
event to a `Search`; `fold` rebuilds a search from its journal; `compare` and `replay` hold each decision against what is decided now.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import JsonValue

from muster.config import ExperimentConfig
from services.searcher.core.budget.ledger import Holding, Opening, Prices
from services.searcher.core.budget.limits import Limit, Limits
from services.searcher.core.editing import Edit
from services.searcher.core.experiment.objectives import Scored
from services.searcher.core.experiment.results import Reading, Result
from services.searcher.core.journal.facts import (
    Facts,
    read_holding,
    read_known,
    read_number,
    read_opening,
    read_operations,
    read_result,
    read_suggestions,
    read_whole,
    write_moves,
    write_opening,
    write_operation,
    write_ruling,
    write_told,
)
from services.searcher.core.methods.custom import Operation
from services.searcher.core.methods.port import RULES, Ending, Ruling
from services.searcher.core.search.moves import Moves, Told
from services.searcher.core.search.search import Search
from services.searcher.core.search.warm import Warmth
from shared.ids import PoolName

MOST_SAID = 300
"""So much of a value is said in words."""

Kind = Literal[
    "warmed", "started", "judged", "parked", "ended", "observed", "widened", "edited", "granted", "released",
    "limited", "priced", "told", "paused", "resumed", "stopping", "finished", "stored",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal; positions count from 1 without gaps."""

    position: int
    kind: Kind
    facts: Facts


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a replay decides otherwise; `facts` are those of the entry."""

    position: int
    kind: Kind
    facts: Facts
    recorded: Facts
    recomputed: Facts

    def in_words(self) -> str:
        """Say which decision it is, and each part of it that differs."""
        trial = f" about trial {self.facts['trial']}" if "trial" in self.facts else ""
        parts = (
            f"'{key}' was {_said(self.recorded[key])} and is {_said(value)} now"
            for key, value in self.recomputed.items()
            if self.recorded[key] != value
        )
        return f"decision {self.position} ('{self.kind}'{trial}) differs: {'; '.join(parts)}"


class Journal:
    """Advances a search and writes down each step; `entries` holds what is to be appended.

    What a search with a budget decides depends on the time: its entries have it, in milliseconds since 1970.
    """

    def __init__(self, search: Search, position: int, now_ms: int = 0) -> None:
        self.search = search
        self.position = position
        self.entries: list[Entry] = []
        if search.spending.is_counting:
            search.spending.tell_time(now_ms)

    def warm(self, warmth: Warmth) -> None:
        """Write down what is known already, in as many entries as it takes."""
        for part in warmth.parts():
            self.search.warm(part)
            self._append("warmed", part.written())

    def start(self, limits: Limits | None = None, price: float = 0.0) -> Moves:
        moves = self.search.start(limits, price)
        budget: Facts = {"limits": asdict(limits), "price": price} if limits else {}
        self._append("started", {"rules": RULES, **budget, **write_moves(moves)})
        return moves

    def judge(self, result: Result, reading: Reading) -> Ruling:
        ruling = self.search.on_result(result.trial, reading.value, reading.time)
        event: Facts = {
            "trial": result.trial,
            **self._named(result.trial),
            "run": result.run,
            "validation": result.number,
            "value": reading.value if math.isfinite(reading.value) else None,
            "time": reading.time,
        }
        if self.search.is_driven and reading.others:
            event["others"] = {name: value for name, value in reading.others.items() if math.isfinite(value)}
        self._append("judged", {**event, **write_ruling(ruling)})
        return ruling

    def park(self, trial: int) -> Moves:
        moves = self.search.on_parked(trial)
        self._append("parked", {"trial": trial, **write_moves(moves)})
        return moves

    def end(self, trial: int, ending: Ending) -> Moves:
        moves = self.search.on_ended(trial, ending)
        self._append("ended", {"trial": trial, "ending": ending.value, **write_moves(moves)})
        return moves

    def observe(self, trial: int, result: Scored | None, state: str, reason: str | None) -> None:
        self.search.observe(trial, result)
        others: Facts = {"others": dict(result.others)} if result and result.others else {}
        ended: Facts = {"state": state, "reason": reason} if self.search.is_driven else {}
        value = result.value if result else None
        self._append("observed", {"trial": trial, "value": value, **others, **self._named(trial), **ended})

    def store(self, trial: int) -> None:
        self.search.on_stored(trial)
        self._append("stored", {"trial": trial})

    def widen(self, limit: int) -> Moves:
        moves = self.search.widen(limit)
        self._append("widened", {"limit": limit, **write_moves(moves)})
        return moves

    def edit(self, edit: Edit, opening: Opening | None = None) -> Moves:
        """`opening`: where the search is given its first budget."""
        moves = self.search.edit(edit, opening)
        changes = {name: value for name, value in asdict(edit).items() if value not in (None, ())}
        known: Facts = {} if opening is None else {"opening": write_opening(opening)}
        self._append("edited", {"changes": changes, **known, **write_moves(moves)})
        return moves

    def tell(self, operations: Sequence[Operation]) -> Told:
        told = self.search.tell(operations)
        self._append(
            "told", {"operations": [write_operation(each) for each in operations], **write_told(told)}
        )
        return told

    def hold(self, trial: int, run: int, holding: Holding) -> None:
        """Count what a run holds, or has held; where there is no budget, or it is known, nothing is written."""
        spending = self.search.spending
        if not spending.is_counting or not spending.is_news(trial, run, holding):
            return
        spending.on_holding(trial, run, holding)
        self._append(
            "released" if holding.is_over else "granted", {"trial": trial, "run": run, **asdict(holding)}
        )

    def price(self, prices: Prices) -> None:
        """Count what runs hold at these prices, by their pools, from now on."""
        spending = self.search.spending
        for pool in spending.misprized(prices):
            spending.on_price(pool, prices[pool])
            self._append("priced", {"pool": pool, "price": prices[pool]})

    def limit(self, is_stopping: bool) -> Limit | None:
        """The limit of the budget because of which trials are to stop now, or to be ended if they are stopping."""
        limit = self.search.spending.reached(is_stopping)
        if limit is not None:
            self._append("limited", {"is_stopping": is_stopping, "limit": limit})
        return limit

    def pause(self, kind: Literal["paused", "stopping"]) -> None:
        self.search.pause()
        self._append(kind, {})

    def resume(self) -> Moves:
        moves = self.search.resume()
        self._append("resumed", write_moves(moves))
        return moves

    def finish(self, outcome: str, reason: str | None) -> None:
        self._append("finished", {"outcome": outcome, "reason": reason})

    def _named(self, trial: int) -> Facts:
        key = self.search.key_of(trial)
        return {} if key is None else {"key": key}

    def _append(self, kind: Kind, facts: Facts) -> None:
        self.position += 1
        if self.search.spending.is_counting:
            facts = {**facts, "at_ms": self.search.spending.now_ms}
        self.entries.append(Entry(self.position, kind, facts))


def recompute(search: Search, entry: Entry) -> Facts:
    """Tell `search` the event of `entry`, and return the decision that it makes now, given the points of the one before."""
    facts = entry.facts
    search.remember(read_suggestions(facts))
    if search.spending.is_counting:
        search.spending.tell_time(read_whole(facts, "at_ms"))
    match entry.kind:
        case "warmed":
            search.warm(Warmth.read(facts))
        case "started":
            limits, price = read_opening(facts)
            rules = read_whole(facts, "rules") if "rules" in facts else 0
            return write_moves(search.start(limits, price, rules))
        case "judged":
            value = facts["value"]
            ruling = search.on_result(
                read_whole(facts, "trial"),
                math.nan if value is None else read_number(facts, "value"),
                read_number(facts, "time"),
            )
            return write_ruling(ruling)
        case "parked":
            return write_moves(search.on_parked(read_whole(facts, "trial")))
        case "ended":
            return write_moves(search.on_ended(read_whole(facts, "trial"), Ending(str(facts["ending"]))))
        case "observed":
            search.observe(read_whole(facts, "trial"), read_result(facts))
        case "stored":
            search.on_stored(read_whole(facts, "trial"))
        case "widened":
            return write_moves(search.widen(read_whole(facts, "limit")))
        case "edited":
            changes: Any = facts["changes"]
            lifted = tuple(changes.get("lifted", ()))
            return write_moves(search.edit(Edit(**{**changes, "lifted": lifted}), read_known(facts)))
        case "told":
            return write_told(search.tell(read_operations(facts)))
        case "granted" | "released":
            search.spending.on_holding(
                read_whole(facts, "trial"), read_whole(facts, "run"), read_holding(facts)
            )
        case "priced":
            search.spending.on_price(PoolName(str(facts["pool"])), read_number(facts, "price"))
        case "limited":
            return {"limit": search.spending.reached(bool(facts["is_stopping"]))}
        case "paused" | "stopping":
            search.pause()
        case "resumed":
            return write_moves(search.resume())
        case "finished":
            pass
    return {}


def fold(search: Search, entries: Iterable[Entry]) -> int:
    """Advance `search` by `entries` and return the last position, 0 where there are none."""
    position = 0
    for entry in entries:
        recompute(search, entry)
        position = entry.position
    return position


def compare(search: Search, entry: Entry) -> Difference | None:
    """Advance `search` by an entry, and return how it decides otherwise than was recorded, or None."""
    decided = recompute(search, entry)
    if all(entry.facts.get(key) == value for key, value in decided.items()):
        return None
    recorded = {key: entry.facts.get(key) for key in decided}
    return Difference(entry.position, entry.kind, entry.facts, recorded, decided)


def replay(config: ExperimentConfig, seed: int, entries: Iterable[Entry]) -> Difference | None:
    """Decide everything again from the beginning; return the first difference, or None."""
    search = Search(config, seed)
    return next((found for entry in entries if (found := compare(search, entry)) is not None), None)


def _said(value: JsonValue) -> str:
    text = json.dumps(value)
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"
