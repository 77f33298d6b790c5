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
from services.searcher.core.editing import Edit
from services.searcher.core.methods.custom import Operation, Verb
from services.searcher.core.methods.port import RULES, Ending, Ruling
from services.searcher.core.moves import Moves, Told
from services.searcher.core.objectives import Scored, Scores
from services.searcher.core.results import Reading, Result
from services.searcher.core.samplers import Suggestion
from services.searcher.core.search import Search
from services.searcher.core.warm import Warmth
from shared.errors import Broken

MOST_SAID = 300
"""So much of a value is said in words."""

Facts = dict[str, JsonValue]
Kind = Literal[
    "warmed",
    "started",
    "judged",
    "parked",
    "ended",
    "observed",
    "widened",
    "edited",
    "told",
    "paused",
    "resumed",
    "stopping",
    "finished",
    "stored",
]


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
    """Advances a search and writes down each step; `entries` holds what is to be appended."""

    def __init__(self, search: Search, position: int) -> None:
        self.search = search
        self.position = position
        self.entries: list[Entry] = []

    def warm(self, warmth: Warmth) -> None:
        """Write down what is known already, in as many entries as it takes."""
        for part in warmth.parts():
            self.search.warm(part)
            self._append("warmed", part.written())

    def start(self) -> Moves:
        moves = self.search.start()
        self._append("started", {"rules": RULES, **_moved(moves)})
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
        self._append("judged", {**event, **_ruled(ruling)})
        return ruling

    def park(self, trial: int) -> Moves:
        moves = self.search.on_parked(trial)
        self._append("parked", {"trial": trial, **_moved(moves)})
        return moves

    def end(self, trial: int, ending: Ending) -> Moves:
        moves = self.search.on_ended(trial, ending)
        self._append("ended", {"trial": trial, "ending": ending.value, **_moved(moves)})
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
        self._append("widened", {"limit": limit, **_moved(moves)})
        return moves

    def edit(self, edit: Edit) -> Moves:
        moves = self.search.edit(edit)
        changes = {name: value for name, value in asdict(edit).items() if value is not None}
        self._append("edited", {"changes": changes, **_moved(moves)})
        return moves

    def tell(self, operations: Sequence[Operation]) -> Told:
        told = self.search.tell(operations)
        self._append("told", {"operations": [_written(each) for each in operations], **_told(told)})
        return told

    def pause(self, kind: Literal["paused", "stopping"]) -> None:
        self.search.pause()
        self._append(kind, {})

    def resume(self) -> Moves:
        moves = self.search.resume()
        self._append("resumed", _moved(moves))
        return moves

    def finish(self, outcome: str, reason: str | None) -> None:
        self._append("finished", {"outcome": outcome, "reason": reason})

    def _named(self, trial: int) -> Facts:
        key = self.search.key_of(trial)
        return {} if key is None else {"key": key}

    def _append(self, kind: Kind, facts: Facts) -> None:
        self.position += 1
        self.entries.append(Entry(self.position, kind, facts))


def recompute(search: Search, entry: Entry) -> Facts:
    """Tell `search` the event of `entry`, and return the decision that it makes now, given the points of the one before."""
    facts = entry.facts
    search.remember(_suggestions(facts))
    match entry.kind:
        case "warmed":
            search.warm(Warmth.read(facts))
        case "started":
            return _moved(search.start(_whole(facts, "rules") if "rules" in facts else 0))
        case "judged":
            value = facts["value"]
            ruling = search.on_result(
                _whole(facts, "trial"),
                math.nan if value is None else _number(facts, "value"),
                _number(facts, "time"),
            )
            return _ruled(ruling)
        case "parked":
            return _moved(search.on_parked(_whole(facts, "trial")))
        case "ended":
            return _moved(search.on_ended(_whole(facts, "trial"), Ending(str(facts["ending"]))))
        case "observed":
            search.observe(_whole(facts, "trial"), _result(facts))
        case "stored":
            search.on_stored(_whole(facts, "trial"))
        case "widened":
            return _moved(search.widen(_whole(facts, "limit")))
        case "edited":
            changes: Any = facts["changes"]
            return _moved(search.edit(Edit(**changes)))
        case "told":
            return _told(search.tell(_operations(facts)))
        case "paused" | "stopping":
            search.pause()
        case "resumed":
            return _moved(search.resume())
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


def _moved(moves: Moves) -> Facts:
    created: list[JsonValue] = [
        {
            "trial": each.number,
            **({"key": each.key} if each.key is not None else {}),
            "hyperparameters": each.point,
            "seed": each.seed,
            "decide_at": each.decide_at,
            **({"memo": each.memo} if each.memo else {}),
            **({"source": each.source} if each.source else {}),
        }
        for each in moves.created
    ]
    going_on: list[JsonValue] = [
        {"trial": each.trial, "decide_at": each.decide_at} for each in moves.going_on
    ]
    return {"created": created, **({"going_on": going_on} if going_on else {})}


def _told(told: Told) -> Facts:
    """Only what there is: most tells are short."""
    kept: list[JsonValue] = [{"trial": each.trial, "decide_at": each.decide_at} for each in told.kept]
    found: Facts = {"kept": kept, "stopped": list(told.stopped), "dropped": list(told.dropped)}
    return {**_moved(told.moves), **{key: value for key, value in found.items() if value}}


def _written(operation: Operation) -> Facts:
    return {name: value for name, value in asdict(operation).items() if value is not None and value != ""}


def _operations(facts: Facts) -> list[Operation]:
    written: Any = facts["operations"]
    return [Operation(**{**each, "verb": Verb(each["verb"])}) for each in written]


def _suggestions(facts: Facts) -> dict[int, Suggestion]:
    created: Any = facts.get("created", ())
    return {each["trial"]: Suggestion(each["hyperparameters"], each.get("memo", {})) for each in created}


def _result(facts: Facts) -> Scores | None:
    others: Any = facts.get("others", {})
    return None if facts["value"] is None else Scores(_number(facts, "value"), others)


def _ruled(ruling: Ruling) -> Facts:
    ruled: Facts = {"stop": ruling.stop, "at_top": ruling.at_top, "decide_at": ruling.decide_at}
    return {**ruled, "pause": True} if ruling.pause else ruled


def _said(value: JsonValue) -> str:
    text = json.dumps(value)
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def _whole(facts: Facts, key: str) -> int:
    value = facts[key]
    if not isinstance(value, int):
        raise Broken(f"the journal's '{key}' is no whole number")
    return value


def _number(facts: Facts, key: str) -> float:
    value = facts[key]
    if not isinstance(value, int | float):
        raise Broken(f"the journal's '{key}' is no number")
    return float(value)
