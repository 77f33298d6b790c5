"""A plain reading of a halving search's journal, by lists of everything: who came to which rung with what, and who went on."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from muster.config import ExperimentConfig
from services.searcher.core.journal.entries import Entry
from services.searcher.core.methods.halving import rung_targets

MOST_RUNGS = 10


@dataclass
class Climber:
    """A trial: the times of its bracket's rungs, the one it stands before, and whether nothing counts any more."""

    targets: tuple[int, ...]
    rung: int = 0
    is_out: bool = False
    placed: list[tuple[int, float]] = field(default_factory=list)
    """Its rungs with its values there."""

    @property
    def place(self) -> tuple[int, int]:
        """Bracket and rung: a bracket is known by the time of its first rung."""
        return self.targets[0], self.rung

    @property
    def is_at_top(self) -> bool:
        return self.rung == len(self.targets) - 1


def check_stops(config: ExperimentConfig, journal: Iterable[Entry]) -> int:
    """Assert that each verdict is the rule's: who is among the best 1/divisor of those seen there so far goes on. Return how many
    there were."""
    climbers: dict[int, Climber] = {}
    seen: dict[tuple[int, int], list[float]] = defaultdict(list)
    checked = 0
    for kind, facts in _told(config, journal, climbers):
        climber = climbers[facts["trial"]]
        if kind == "ended" and facts["ending"] == "invalid":
            climber.is_out = True
            for rung, value in climber.placed:
                seen[climber.targets[0], rung].remove(value)
        elif kind == "ended" and facts["ending"] != "finished" and not climber.is_out:
            seen[climber.place].append(math.inf)
            climber.is_out = True
        if kind == "judged" and not climber.is_out:
            value = _value(facts)
            while not climber.is_out and facts["time"] >= climber.targets[climber.rung]:
                values = seen[climber.place]
                values.append(value)
                climber.placed.append((climber.rung, value))
                is_best = sum(one < value for one in values) < max(_best(config, len(values)), 1)
                climber.is_out = climber.is_at_top or not is_best
                climber.rung += not climber.is_out
            assert facts["stop"] == climber.is_out
            checked += 1
    return checked


def left_behind(config: ExperimentConfig, journal: Iterable[Entry]) -> list[int]:
    """Return trials that are among the best 1/divisor of a rung at the end, and that never went on from it; of a search in which no
    result passes several rungs."""
    climbers: dict[int, Climber] = {}
    seen: dict[tuple[int, int], dict[int, float]] = defaultdict(dict)
    for kind, facts in _told(config, journal, climbers):
        for step in facts.get("resumed", ()):
            climbers[step["trial"]].rung += 1
        climber = climbers[facts["trial"]]
        if kind == "ended" and facts["ending"] == "invalid":
            for values in seen.values():
                values.pop(facts["trial"], None)
        elif kind == "ended" and facts["ending"] != "finished":
            seen[climber.place].setdefault(facts["trial"], math.inf)
        if kind == "judged" and facts["time"] >= climber.targets[climber.rung] and not climber.is_at_top:
            seen[climber.place][facts["trial"]] = _value(facts)
            climber.rung += not facts.get("pause", False)
    return [
        trial
        for (_, rung), values in seen.items()
        for trial in sorted(values, key=values.__getitem__)[: _best(config, len(values))]
        if climbers[trial].rung == rung and math.isfinite(values[trial])
    ]


def _told(
    config: ExperimentConfig, journal: Iterable[Entry], climbers: dict[int, Climber]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events that are about a trial, each after the trials that came before it were made."""
    for entry in journal:
        facts: Any = entry.facts
        if "trial" in facts:
            yield entry.kind, facts
        for made in facts.get("created", ()):
            climbers[made["trial"]] = Climber(_targets(config, int(made["decide_at"])))


def _targets(config: ExperimentConfig, first: int) -> tuple[int, ...]:
    searcher: Any = config.searcher
    ladders = (rung_targets(searcher.max_time, searcher.divisor, rungs) for rungs in range(1, MOST_RUNGS))
    return next(ladder for ladder in ladders if ladder[0] == first)


def _best(config: ExperimentConfig, count: int) -> int:
    searcher: Any = config.searcher
    return int(count / searcher.divisor)


def _value(facts: dict[str, Any]) -> float:
    return math.inf if facts["value"] is None else float(facts["value"])
