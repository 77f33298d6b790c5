"""Find experiments by labels and name substrings without scanning all of them.

Under row-level security, Postgres uses an index only for leakproof operators, which array and pattern operators are not. The terms are
therefore in a table of their own and are found by equality (decision 0154).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Integer, Select, Text, and_, column, false, func, literal, select, true, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.experiments.tables import experiment, experiment_search_term as known
from shared.database.statements import rows_given
from shared.filters.fields import Field, ListQuery, read_position
from shared.filters.sql import Cells, RowPage, condition
from shared.filters.syntax_tree import All, Contains, Filter

LABEL, PIECE = "=", "~"
_COUNTED = 400, 2000
"""Limits for counting the experiments of a term, tried in order. Terms with more experiments are not selective."""
_PIECES = 8
"""Maximum number of labels, texts and trigrams to look up; the full condition is checked on each candidate afterwards."""
_TOGETHER = 3
"""Number of rarest terms that a candidate must have; reading an experiment costs more than looking up a term."""


async def find_candidates(
    connection: AsyncConnection, labels: Sequence[str], texts: Sequence[str], filter_: Filter[Field] | None
) -> Select[Any] | None:
    """Return a query of the numbers of candidate experiments, which have the rarest terms of these labels and name substrings.

    Args:
        filter_: Its conditions on labels and names are used too.

    Returns:
        None if there is no condition on labels or names, or none that yields a term.
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
    """Return whether a list is sorted by descending number, the order of the terms table."""
    return [(order.column.name, order.is_descending) for order in wanted.orders] == [("number", True)]


async def load_newest(
    connection: AsyncConnection, query: Select[Any], cells: Cells, candidates: Select[Any], wanted: ListQuery
) -> RowPage:
    """Return a page like `load_part`, by looking up the candidates one by one, newest first, until the page is full."""
    if wanted.filter is not None:
        query = query.where(condition(wanted.filter, cells))
    if wanted.after is not None:
        (below,) = read_position(wanted)
        candidates = candidates.where(known.c.number < below)
    found = candidates.order_by(known.c.number.desc()).subquery("found")
    # OFFSET 0 is an optimization fence: for a frequent term, Postgres would read all rows and sort.
    each = query.where(experiment.c.number == found.c.number).offset(0).lateral("each")
    walk = select(*each.c).select_from(found.join(each, true())).order_by(found.c.number.desc())
    rows = (await connection.execute(walk.limit(wanted.limit + 1))).all()
    page = rows[: wanted.limit]
    return RowPage(page, None if len(rows) == len(page) else [page[-1].number])


def _rarest(labels: Sequence[str], texts: Sequence[str], most: int) -> Select[Any]:
    """Return the rarest terms of labels and texts, with `held`: the number of their experiments, counted up to `most`."""
    label = rows_given([column("label", Text)], [(one,) for one in labels])
    whole = rows_given([column("whole", Text)], [(one,) for one in texts])
    small = func.lower(whole.c.whole, type_=Text)
    offsets = func.generate_series(1, func.length(small) - 2).table_valued(column("place", Integer))
    offsets = offsets.render_derived(name="offsets")
    piece = literal(PIECE, Text) + func.substr(small, offsets.c.place, 3, type_=Text)
    term_end, prefix_end = literal(chr(1), Text), literal(chr(0x10FFFF), Text)
    of_labels = select(
        (literal(LABEL, Text) + label.c.label).label("term"),
        false().label("is_beginning"),
        term_end.label("beyond"),
    )
    of_texts = select(piece, false(), term_end).select_from(whole.join(offsets, true()))
    is_short = func.length(small).between(1, 2)
    of_short = select(literal(PIECE, Text) + small, true(), prefix_end).where(is_short)
    asked = union_all(of_labels, of_texts.distinct().limit(_PIECES), of_short).subquery("asked")
    within = and_(known.c.term >= asked.c.term, known.c.term < asked.c.term + asked.c.beyond)
    few = select(known.c.number).where(within).limit(most).correlate(asked).subquery("few")
    held = select(func.count()).select_from(few).scalar_subquery().label("held")
    return select(asked.c.term, asked.c.is_beginning, held).order_by(held).limit(_TOGETHER)


def _contained(filter_: Filter[Field] | None) -> Iterator[tuple[str, str]]:
    """Yield field and text of each required `contains` condition."""
    match filter_:
        case Contains(field, text):
            yield field.name, text
        case All(of):
            for one in of:
                yield from _contained(one)


def _having(terms: Sequence[str]) -> Select[Any]:
    """Select the numbers of experiments that have all terms, given the rarest first."""
    rarest, *others = terms
    query = select(known.c.number).where(known.c.term == rarest)
    for term in others:
        other = known.alias()
        query = query.where(known.c.number.in_(select(other.c.number).where(other.c.term == term)))
    return query


def _beginning(term: str) -> Select[Any]:
    """Select the distinct numbers of experiments that have a term with this prefix."""
    within = select(known.c.number).where(known.c.term >= term, known.c.term < term + chr(0x10FFFF))
    return within.group_by(known.c.number)
