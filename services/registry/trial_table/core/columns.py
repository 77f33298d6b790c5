"""What the names of a table mean: facts of a trial, `hparams.…`, and `metrics.GROUP.NAME.STAT`."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from muster.errors import Rejected
from shared.filters.tree import Kind

HYPERPARAMETERS = ("hparams", "hyperparameters")
METRICS = "metrics"
MOST_NAMED = 20
"""So many names are listed where one is unknown."""


class Stat(StrEnum):
    """What is told of a metric: `best` by the direction that the search gives it, `last` at the highest step."""

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
"""What a trial itself has. `best` stands beside them: the search's metric at its best."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something of the trial itself."""

    name: str

    @property
    def kind(self) -> Kind:
        """What its cells are."""
        return FACTS[self.name]


@dataclass(frozen=True, slots=True)
class Hyperparameter:
    """A value of the trial's hyperparameters; nested ones by their whole path."""

    path: tuple[str, ...]

    @property
    def kind(self) -> Kind:
        """What its cells are."""
        return Kind.ANY


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a metric's summary; without a finite value there is none."""

    group: str
    name: str
    stat: Stat

    @property
    def kind(self) -> Kind:
        """What its cells are."""
        return Kind.NUMBER

    @property
    def key(self) -> tuple[str, str]:
        """Group and name."""
        return self.group, self.name


Column: TypeAlias = Fact | Hyperparameter | Metric


@dataclass(frozen=True, slots=True)
class Values:
    """What trials have of a hyperparameter: kinds of JSON (`number`, `string`, …), and whether all numbers are whole and fit 64 bits."""

    kinds: frozenset[str]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class SearchMetric:
    """The metric by which the experiment's search goes; None where it has none. Its results are validations."""

    metric: str | None = None
    smaller_is_better: bool = True

    def is_of(self, metric: Metric) -> bool:
        """Whether this is the search's metric."""
        return metric.key == ("validation", self.metric)


def read_column(parts: Sequence[str], search: SearchMetric, place: str) -> Column:
    """Return what a dotted name means.

    `metrics.GROUP.NAME` without a stat means its `last`; a NAME with dots is taken as it is.

    Raises:
        Rejected: no column is called so; the hint says which are.
    """
    first, *rest = parts
    if first in HYPERPARAMETERS and rest:
        return Hyperparameter(tuple(rest))
    if first == METRICS and len(rest) >= 2:
        return _metric(rest, search, place)
    if first == "best" and not rest:
        if search.metric is None:
            raise Rejected(
                "unknown_name", "the experiment's search has no metric of which one is best", place
            )
        return Metric("validation", search.metric, Stat.BEST)
    if first in FACTS and not rest:
        return Fact(first)
    raise Rejected("unknown_name", f"no column is called '{'.'.join(parts)}'", place, _hint(first, rest))


def unknown(name: str, known: Sequence[str], what: str, place: str) -> Rejected:
    """The refusal of a name that no trial of the experiment has and its config does not declare, with those that there are."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    shown = ", ".join(known[:MOST_NAMED]) + (", …" if len(known) > MOST_NAMED else "")
    hint = f"did you mean '{close[0]}'? there are: {shown}" if close else f"there are: {shown}"
    message = f"no trial of the experiment has the {what} '{name}', and its config does not declare it"
    return Rejected("unknown_name", message, place, hint)


def name_of(column: Column) -> str:
    """The column's name as it is shown, and as it can be given again."""
    match column:
        case Fact(name):
            return name
        case Hyperparameter(path):
            return ".".join(("hparams", *map(quoted, path)))
        case Metric(group, name, stat):
            return f"{metric_name(group, name)}.{stat}"


def metric_name(group: str, name: str) -> str:
    """A metric's name without a stat, as it can be given again: one with dots that part nothing, or that ends like a stat, in quotes as a whole."""
    parts = name.split(".")
    is_one = not all(parts) or parts[-1] in list(Stat)
    return ".".join((METRICS, quoted(group), *([quoted(name)] if is_one else map(quoted, parts))))


def quoted(part: str) -> str:
    """A part of a name, in quotes where it could not be read without."""
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
            "say .min or .max"
            if search.metric is None
            else f"say .min or .max; the search goes by {search.metric}"
        )
        raise Rejected(
            "no_direction", f"which values of '{group}.{metric.name}' are better is not known", place, hint
        )
    return metric


def _hint(first: str, rest: Sequence[str]) -> str:
    names = [*FACTS, "best", "hparams.NAME", "metrics.GROUP.NAME.STAT"]
    close = difflib.get_close_matches(first, [*FACTS, "best", "hparams", METRICS], n=1, cutoff=0.6)
    guess = f"did you mean '{'.'.join((close[0], *rest))}'? " if close and close[0] != first else ""
    return f"{guess}there are {', '.join(names)} with a STAT of {', '.join(Stat)}"
