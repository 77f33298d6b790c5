"""Experiments by their labels and by what their names contain, without looking at all of them.

Row-level security lets an index serve only what cannot leak, which comparisons of arrays and of patterns could: so the words stand in a
table of their own and are found by equality (decision 0154). Neighbour: `store`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Integer, Select, Text, and_, column, false, func, literal, select, true, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment, experiment_term as known
from shared.database.statements import rows_given
from shared.filters.fields import Field, ListQuery, read_position
from shared.filters.sql import Cells, RowPage, condition
from shared.filters.tree import All, Contains, Filter

LABEL, PIECE = "=", "~"
_COUNTED = 400, 2000
"""How far the experiments of a word are counted, at first and where no word has fewer: what more have is as good as what all have."""
_PIECES = 8
"""Of many labels, texts and pieces of texts so many are looked at; what is asked for is compared with each experiment that they lead to."""

_TOGETHER = 3
"""So many of the rarest words have to be an experiment's before it is looked at, which costs more than to find a word."""


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
        rarest_of = _rarest(labels[:_PIECES], texts[:_PIECES], most)
        found = (await connection.execute(rarest_of)).all()
        if not found:
            return None
        if found[0].held < most:
            break
    rarest, *others = found
    if rarest.is_beginning:
        return _beginning(rarest.term)
    rare = [row.term for row in others if row.held < most and not row.is_beginning]
    return _having([rarest.term, *rare])


def is_newest_first(wanted: ListQuery) -> bool:
    """Whether a list is in the order in which a word's numbers stand."""
    return [(order.column.name, order.is_descending) for order in wanted.orders] == [("number", True)]


async def load_newest(
    connection: AsyncConnection, query: Select[Any], cells: Cells, candidates: Select[Any], wanted: ListQuery
) -> RowPage:
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
    return RowPage(shown, None if len(rows) == len(shown) else [shown[-1].number])


def _rarest(labels: Sequence[str], texts: Sequence[str], most: int) -> Select[Any]:
    """The words of labels and texts that the fewest experiments have, with `held`, how many these are, counted up to `most`."""
    label = rows_given([column("label", Text)], [(one,) for one in labels])
    whole = rows_given([column("whole", Text)], [(one,) for one in texts])
    small = func.lower(whole.c.whole, type_=Text)
    places = func.generate_series(1, func.length(small) - 2).table_valued(column("place", Integer))
    places = places.render_derived(name="places")
    piece = literal(PIECE, Text) + func.substr(small, places.c.place, 3, type_=Text)
    word_end, any_end = literal(chr(1), Text), literal(chr(0x10FFFF), Text)
    of_labels = select(
        (literal(LABEL, Text) + label.c.label).label("term"),
        false().label("is_beginning"),
        word_end.label("beyond"),
    )
    of_texts = select(piece, false(), word_end).select_from(whole.join(places, true()))
    is_short = func.length(small).between(1, 2)
    of_short = select(literal(PIECE, Text) + small, true(), any_end).where(is_short)
    asked = union_all(of_labels, of_texts.distinct().limit(_PIECES), of_short).subquery("asked")
    within = and_(known.c.term >= asked.c.term, known.c.term < asked.c.term + asked.c.beyond)
    few = select(known.c.number).where(within).limit(most).correlate(asked).subquery("few")
    held = select(func.count()).select_from(few).scalar_subquery().label("held")
    return select(asked.c.term, asked.c.is_beginning, held).order_by(held).limit(_TOGETHER)


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
