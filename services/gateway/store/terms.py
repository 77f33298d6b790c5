"""Experiments by their labels and by what their names contain, without looking at all of them.

Row-level security lets an index serve only what cannot leak, which comparisons of arrays and of patterns could: so the words stand in a
table of their own and are found by equality (decision 0154). Neighbours: `term_tables`, `experiments`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Select, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.store.tables import experiment
from services.gateway.store.term_tables import experiment_term as known
from shared.driver import Driver
from shared.expressions.fields import Field, Wanted, read_position
from shared.expressions.sql import Cells, Part, condition
from shared.expressions.tree import All, Contains, Filter

LABEL, PIECE = "=", "~"
_COUNTED = 400, 2000
"""How far the experiments of a word are counted, at first and where no word has fewer: what more have is as good as what all have."""
_PIECES = 8
"""Of many labels, texts and pieces of texts so many are looked at; what is asked for is compared with each experiment that they lead to."""

_TOGETHER = 3
"""So many of the rarest words have to be an experiment's before it is looked at, which costs more than to find a word."""

_RAREST = f"""
SELECT asked.term, asked.is_beginning, (SELECT count(*) FROM (
    SELECT FROM gateway.experiment_term AS known
    WHERE known.term >= asked.term AND known.term < asked.term || asked.beyond LIMIT $3) AS few) AS held
FROM (
    SELECT '{LABEL}' || label AS term, false AS is_beginning, chr(1) AS beyond FROM unnest($1::text[]) AS label
    UNION ALL (
        SELECT DISTINCT '{PIECE}' || substr(lower(whole), place, 3), false, chr(1)
        FROM unnest($2::text[]) AS whole, generate_series(1, length(lower(whole)) - 2) AS place LIMIT {_PIECES})
    UNION ALL
    SELECT '{PIECE}' || lower(whole), true, chr(1114111) FROM unnest($2::text[]) AS whole
    WHERE length(lower(whole)) BETWEEN 1 AND 2
) AS asked ORDER BY held LIMIT {_TOGETHER}
"""


async def find_candidates(
    connection: AsyncConnection, labels: Sequence[str], texts: Sequence[str], filter_: Filter[Field] | None
) -> Select[Any] | None:
    """The numbers of all experiments that may have these labels and all of the texts in their names, by the rarest of their words together.

    Args:
        filter_: what it asks of labels and names counts too, where nothing else would do.

    Returns:
        None where neither labels nor texts are asked for.
    """
    more = list(_contained(filter_))
    labels = [*labels, *(text for name, text in more if name == "labels")]
    texts = [*texts, *(text for name, text in more if name == "name")]
    if len(labels) == 1 and not texts:
        return _having([LABEL + labels[0]])
    if not labels and not texts:
        return None
    for most in _COUNTED:
        found = await Driver.of(connection).fetch(_RAREST, labels[:_PIECES], texts[:_PIECES], most)
        if not found:
            return None
        if found[0]["held"] < most:
            break
    rarest, *others = found
    if rarest["is_beginning"]:
        return _beginning(rarest["term"])
    rare = [row["term"] for row in others if row["held"] < most and not row["is_beginning"]]
    return _having([rarest["term"], *rare])


def is_newest_first(wanted: Wanted) -> bool:
    """Whether a list is in the order in which a word's numbers stand."""
    return [(order.column.name, order.is_descending) for order in wanted.orders] == [("number", True)]


async def load_newest(
    connection: AsyncConnection, query: Select[Any], cells: Cells, candidates: Select[Any], wanted: Wanted
) -> Part:
    """Return as `load_part` the query's rows among the candidates: each number is looked up as it comes, until there are enough."""
    if wanted.filter is not None:
        query = query.where(condition(wanted.filter, cells))
    if wanted.after is not None:
        (below,) = read_position(wanted)
        candidates = candidates.where(known.c.number < below)
    found = candidates.order_by(known.c.number.desc()).subquery("found")
    # The offset keeps this order of work: where many have the word, Postgres would rather look at all and sort.
    each = query.where(experiment.c.number == found.c.number).offset(0).lateral("each")
    walk = select(*each.c).select_from(found.join(each, true())).order_by(found.c.number.desc())
    rows = (await connection.execute(walk.limit(wanted.limit + 1))).all()
    shown = rows[: wanted.limit]
    return Part(shown, None if len(rows) == len(shown) else [shown[-1].number])


def _contained(filter_: Filter[Field] | None) -> Iterator[tuple[str, str]]:
    """Field and text of each `:` that has to hold."""
    match filter_:
        case Contains(field, text):
            yield field.name, text
        case All(of):
            for one in of:
                yield from _contained(one)


def _having(terms: Sequence[str]) -> Select[Any]:
    """With all of the terms; the first is the rarest."""
    rarest, *others = terms
    query = select(known.c.number).where(known.c.term == rarest)
    for term in others:
        other = known.alias()
        query = query.where(known.c.number.in_(select(other.c.number).where(other.c.term == term)))
    return query


def _beginning(term: str) -> Select[Any]:
    """With terms that begin so, of which one experiment may have several."""
    within = select(known.c.number).where(known.c.term >= term, known.c.term < term + chr(0x10FFFF))
    return within.group_by(known.c.number)
