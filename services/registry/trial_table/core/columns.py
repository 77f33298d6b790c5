"""Column names of the trial table: facts of a trial, `hparams.…`, and `metrics.GROUP.NAME.STAT`."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from muster.errors import Rejected
from shared.filters.syntax_tree import Kind

HYPERPARAMETERS = ("hparams", "hyperparameters")
METRICS = "metrics"
MOST_NAMED = 20
"""Maximum number of names listed in an error about an unknown name."""


class Stat(StrEnum):
    """Statistic of a metric. `best`: by the search's direction. `last`: at the highest step."""

    COUNT = "count"
    MIN = "min"
    MAX = "max"
    MEAN = "mean"
    LAST = "last"
    LAST_STEP = "last_step"
    BEST = "best"


FACTS = {
    "number": Kind.NUMBER,
    "state": Kind.TEXT,
    "invalid": Kind.BOOLEAN,
    "runs": Kind.NUMBER,
    "created": Kind.TIME,
    "ended": Kind.TIME,
}
"""Facts of a trial. `best`, the best value of the search's metric, is an additional column."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a trial."""

    name: str

    @property
    def kind(self) -> Kind:
        """Type of its cells."""
        return FACTS[self.name]


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """A hyperparameter of the trial; nested ones by their full path."""

    path: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """Type of its cells."""
        return Kind.ANY


@dataclass(frozen=True, slots=True)
class Metric:
    """One statistic of a metric; absent without a finite value."""

    group: str
    name: str
    stat: Stat

    @property
    def kind(self) -> Kind:
        """Type of its cells."""
        return Kind.NUMBER

    @property
    def key(self) -> tuple[str, str]:
        """Group and name."""
        return self.group, self.name


Column: TypeAlias = Fact | Hyperparameter | Metric


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a hyperparameter over all trials: JSON types (`number`, `string`, …), and whether all numbers are integers that fit 64 bits."""

    kinds: frozenset[str]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class SearchMetric:
    """The metric that the experiment's search optimizes, among its validations; None if it has none."""

    metric: str | None = None
    smaller_is_better: bool = True

    def is_of(self, metric: Metric) -> bool:
        """Return whether this is the search's metric."""
        return metric.key == ("validation", self.metric)


def read_column(parts: Sequence[str], search: SearchMetric, place: str) -> Column:
    """Parse a dotted column name.

    `metrics.GROUP.NAME` without a statistic means `last`; NAME may contain dots.

    Raises:
        Rejected: There is no such column; the hint lists the valid names.
    """
    first, *rest = parts
    if first in HYPERPARAMETERS and rest:
        return Hyperparameter(tuple(rest))
    if first == METRICS and len(rest) >= 2:
        return _metric(rest, search, place)
    if first == "best" and not rest:
        if search.metric is None:
            raise Rejected(
                "unknown_name",
                "the column 'best' needs a search metric, and the experiment's search has none",
                place,
            )
        return Metric("validation", search.metric, Stat.BEST)
    if first in FACTS and not rest:
        return Fact(first)
    raise Rejected("unknown_name", f"there is no column '{'.'.join(parts)}'", place, _hint(first, rest))


def unknown(name: str, known: Sequence[str], what: str, place: str) -> Rejected:
    """Return the error for a name that no trial of the experiment has and its config does not declare, with the known names."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    names = ", ".join(known[:MOST_NAMED]) + (", …" if len(known) > MOST_NAMED else "")
    hint = f"did you mean '{close[0]}'? known names: {names}" if close else f"known names: {names}"
    message = f"no trial of the experiment has the {what} '{name}', and its config does not declare it"
    return Rejected("unknown_name", message, place, hint)


def name_of(column: Column) -> str:
    """Return the column's public name, which `read_column` parses."""
    match column:
        case Fact(name):
            return name
        case Hyperparameter(path):
            return ".".join(("hparams", *map(quoted, path)))
        case Metric(group, name, stat):
            return f"{metric_name(group, name)}.{stat}"


def metric_name(group: str, name: str) -> str:
    """Return a metric's name without a statistic. A name with empty parts, or that ends like a statistic, is quoted as a whole."""
    parts = name.split(".")
    is_one = not all(parts) or parts[-1] in list(Stat)
    return ".".join((METRICS, quoted(group), *([quoted(name)] if is_one else map(quoted, parts))))


def quoted(part: str) -> str:
    """Return a part of a name, quoted if necessary."""
    plain = part.replace("_", "a").replace("/", "a").replace("-", "a")
    if plain.isascii() and plain.isalnum() and not part[0].isdigit() and part[0] not in "-/":
        return part
    return '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _metric(rest: Sequence[str], search: SearchMetric, place: str) -> Metric:
    group, *name = rest
    stat = Stat.LAST
    if len(name) > 1 and name[-1] in list(Stat):
        stat = Stat(name.pop())
    metric = Metric(group, ".".join(name), stat)
    if stat is Stat.BEST and not search.is_of(metric):
        hint = (
            "use .min or .max"
            if search.metric is None
            else f"use .min or .max; best is defined only for the search's metric {search.metric}"
        )
        raise Rejected(
            "no_direction",
            f"'{group}.{metric.name}' has no best value, because its direction is unknown",
            place,
            hint,
        )
    return metric


def _hint(first: str, rest: Sequence[str]) -> str:
    names = [*FACTS, "best", "hparams.NAME", "metrics.GROUP.NAME.STAT"]
    close = difflib.get_close_matches(first, [*FACTS, "best", "hparams", METRICS], n=1, cutoff=0.6)
    guess = f"did you mean '{'.'.join((close[0], *rest))}'? " if close and close[0] != first else ""
    return f"{guess}available columns: {', '.join(names)}, where STAT is one of {', '.join(Stat)}"
