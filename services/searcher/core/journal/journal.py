"""Write a search's journal: for each step the event and the decision. `replay.py` reads it."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from pydantic import JsonValue

from services.searcher.core.budget.ledger import LedgerOpening, SlotUsage
from services.searcher.core.budget.limits import BudgetLimits, Limit
from services.searcher.core.editing import SearchEdit
from services.searcher.core.experiment.objectives import Scored
from services.searcher.core.experiment.results import Reading, Result
from services.searcher.core.journal.entries import Entry, Facts, Kind
from services.searcher.core.journal.entry_codec import (
    write_actions,
    write_decision,
    write_opening,
    write_operation,
    write_operation_result,
)
from services.searcher.core.methods.custom import Operation
from services.searcher.core.methods.interface import RULES_VERSION, RungDecision, TrialEnding
from services.searcher.core.search.actions import OperationResult, SearchActions
from services.searcher.core.search.prior_observations import PriorObservations
from services.searcher.core.search.search import Search
from shared.ids import PoolName


class SearchJournal:
    """Record each step of a search after the search has taken it. `entries` holds the entries to append.

    Decisions of a search with a budget depend on the time, so its entries include it, in milliseconds since 1970.
    """

    def __init__(self, search: Search, position: int) -> None:
        self.position = position
        self.entries: list[Entry] = []
        self._search = search

    def warm_started(self, part: PriorObservations) -> None:
        self._append("warm_started", part.to_facts())

    def started(self, limits: BudgetLimits | None, price: float, actions: SearchActions) -> None:
        budget: Facts = {"limits": asdict(limits), "price": price} if limits else {}
        self._append("started", {"rules": RULES_VERSION, **budget, **write_actions(actions)})

    def judged(self, result: Result, reading: Reading, decision: RungDecision) -> None:
        event: Facts = {
            "trial": result.trial,
            **self._named(result.trial),
            "run": result.run,
            "validation": result.number,
            "value": reading.value if math.isfinite(reading.value) else None,
            "time": reading.time,
        }
        if self._search.is_driven and reading.others:
            event["others"] = {name: value for name, value in reading.others.items() if math.isfinite(value)}
        self._append("judged", {**event, **write_decision(decision)})

    def parked(self, trial: int, actions: SearchActions) -> None:
        self._append("parked", {"trial": trial, **write_actions(actions)})

    def ended(self, trial: int, ending: TrialEnding, actions: SearchActions) -> None:
        self._append("ended", {"trial": trial, "ending": ending.value, **write_actions(actions)})

    def observed(self, trial: int, result: Scored | None, state: str, reason: str | None) -> None:
        others: Facts = {"others": dict(result.others)} if result and result.others else {}
        ended: Facts = {"state": state, "reason": reason} if self._search.is_driven else {}
        value = result.value if result else None
        self._append("observed", {"trial": trial, "value": value, **others, **self._named(trial), **ended})

    def checkpoint_stored(self, trial: int) -> None:
        self._append("checkpoint_stored", {"trial": trial})

    def widened(self, limit: int, actions: SearchActions) -> None:
        self._append("widened", {"limit": limit, **write_actions(actions)})

    def edited(self, edit: SearchEdit, opening: LedgerOpening | None, actions: SearchActions) -> None:
        """Record an edit. `opening` is given if it adds the search's first budget."""
        changes = {name: value for name, value in asdict(edit).items() if value not in (None, ())}
        known: Facts = {} if opening is None else {"opening": write_opening(opening)}
        self._append("edited", {"changes": changes, **known, **write_actions(actions)})

    def operations_applied(self, operations: Sequence[Operation], result: OperationResult) -> None:
        written: list[JsonValue] = [write_operation(each) for each in operations]
        self._append("operations_applied", {"operations": written, **write_operation_result(result)})

    def held(self, trial: int, run: int, holding: SlotUsage) -> None:
        kind: Kind = "released" if holding.is_over else "granted"
        self._append(kind, {"trial": trial, "run": run, **asdict(holding)})

    def price_changed(self, pool: PoolName, price: float) -> None:
        self._append("price_changed", {"pool": pool, "price": price})

    def limit_reached(self, is_stopping: bool, limit: Limit) -> None:
        self._append("limit_reached", {"is_stopping": is_stopping, "limit": limit})

    def paused(self, kind: Literal["paused", "stopping"]) -> None:
        self._append(kind, {})

    def resumed(self, actions: SearchActions) -> None:
        self._append("resumed", write_actions(actions))

    def finished(self, outcome: str, reason: str | None) -> None:
        self._append("finished", {"outcome": outcome, "reason": reason})

    def _named(self, trial: int) -> Facts:
        key = self._search.key_of(trial)
        return {} if key is None else {"key": key}

    def _append(self, kind: Kind, facts: Facts) -> None:
        self.position += 1
        if self._search.spending.is_counting:
            facts = {**facts, "at_ms": self._search.spending.now_ms}
        self.entries.append(Entry(self.position, kind, facts))
