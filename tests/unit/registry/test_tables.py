"""The language of tables: what filters mean, what they refuse and where, and that nothing of a user's ends up in SQL."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from sqlalchemy import FromClause, column as sql_column, table
from sqlalchemy.dialects.postgresql.asyncpg import dialect

from muster.errors import Rejected
from services.registry.trial_table.core.columns import (
    Column,
    Fact,
    Hyperparameter,
    Metric,
    SearchMetric,
    Stat,
    metric_name,
    name_of,
)
from services.registry.trial_table.core.filters import Filter, read_column_name, read_filter, read_orders
from services.registry.trial_table.store.filtering import Cells
from shared.filters.syntax_tree import Absent, All, Any, Comparison, Contains, Not, Order

LOSS = SearchMetric("loss", smaller_is_better=True)
ACCURACY = SearchMetric("accuracy", smaller_is_better=False)
LR, STATE = Hyperparameter(("lr",)), Fact("state")
BEST = Metric("validation", "accuracy", Stat.BEST)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", None),
        ("hparams.lr < 0.01", Comparison(LR, "<", 0.01)),
        ("hparams.lr<-1e-3", Comparison(LR, "<", -0.001)),
        ("state == completed", Comparison(STATE, "=", "completed")),
        ('state = "completed"', Comparison(STATE, "=", "completed")),
        ("invalid = TRUE", Comparison(Fact("invalid"), "=", True)),
        ("best >= .9", Comparison(BEST, ">=", 0.9)),
        ("hyperparameters.a.b is absent", Absent(Hyperparameter(("a", "b")))),
        ("hparams.a is not absent", Not(Absent(Hyperparameter(("a",))))),
        ("not hparams.a contains 'it\\'s'", Not(Contains(Hyperparameter(("a",)), "it's"))),
        (
            "hparams.lr not in (1, two)",
            Not(Any((Comparison(LR, "=", 1.0), Comparison(LR, "=", "two")))),
        ),
        (
            "number > 1 or number < 3 and not (state = error)",
            Any(
                (
                    Comparison(Fact("number"), ">", 1.0),
                    All((Comparison(Fact("number"), "<", 3.0), Not(Comparison(STATE, "=", "error")))),
                )
            ),
        ),
        (
            'metrics.training."top 5".max > 1 AND metrics.training.a/b.c = 2',
            All(
                (
                    Comparison(Metric("training", "top 5", Stat.MAX), ">", 1.0),
                    Comparison(Metric("training", "a/b.c", Stat.LAST), "=", 2.0),
                )
            ),
        ),
    ],
)
def test_filters_mean(text: str, meant: Filter | None) -> None:
    assert read_filter(text, ACCURACY) == meant


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("hparams.lr >", "bad_filter", "at its end: expected a number"),
        ("hparams.lr > 1; DROP TABLE registry.trial", "bad_filter", "at character 15: ';' is not expected here"),
        ("1=1", "bad_filter", "at character 1: expected a name"),
        ("state = completed OR 1=1 --", "bad_filter", "at character 22: expected a name"),
        ("hparams.lr = (select 1)", "bad_filter", "at character 14: expected a number"),
        ("state = 'open", "bad_filter", "at character 9: the closing quote is missing"),
        ("hparams.lr = 1e999", "bad_filter", "at character 14: 1e999 is out of range for a 64-bit number"),
        ("(number = 1", "bad_filter", "at its end: a parenthesis is not closed"),
        ("number = 1 number = 2", "bad_filter", "at character 12: expected and, or, or the end"),
        ("number = one", "bad_filter", "at character 10: expected a number, not 'one'"),
        ("state < 3", "bad_filter", "at character 9: expected a text"),
        ("created > yesterday", "bad_filter", "at character 11: expected a time"),
        ("best contains 3", "bad_filter", "at character 15: expected a text"),
        ("best contains a", "bad_filter", "at character 15: contains works only with text"),
        ("(" * 30 + "number = 1" + ")" * 30, "bad_filter", "parentheses can be nested at most 20 deep"),
        (" and ".join(["number = 1"] * 60), "bad_filter", "at most 50 conditions"),
        ("number = 1" + " " * 5000, "bad_filter", "at most 4000 characters"),
        ("staet = error", "unknown_name", "at character 1: there is no column 'staet'"),
        ("number = 1 and lr < 1", "unknown_name", "at character 16: there is no column 'lr'"),
        ("metrics.validation.f1.best > 1", "no_direction", "'validation.f1' has no best value"),
    ],
)  # fmt: skip
def test_what_is_refused_says_where(text: str, code: str, said: str) -> None:
    with pytest.raises(Rejected) as refused:
        read_filter(text, ACCURACY)
    assert (refused.value.code, refused.value.place) == (code, "filter")
    assert said in refused.value.message


def test_hints_name_what_there_is() -> None:
    with pytest.raises(Rejected, match=r"did you mean 'state'\?"):
        read_filter("staet = error", LOSS)
    with pytest.raises(
        Rejected, match=r"use \.min or \.max; best is defined only for the search's metric loss"
    ):
        read_filter("metrics.validation.f1.best > 1", LOSS)


def test_a_sort_by_best_puts_the_best_first() -> None:
    assert read_orders("best, -hparams.lr", LOSS) == (
        Order(Metric("validation", "loss", Stat.BEST), False),
        Order(LR, True),
    )
    assert read_orders("best", ACCURACY) == (Order(BEST, True),)
    assert read_orders("-best", ACCURACY) == (Order(BEST, False),)
    assert read_orders("-metrics.validation.accuracy.max", ACCURACY) == (
        Order(Metric("validation", "accuracy", Stat.MAX), True),
    )


_PARTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
_NAMES = st.one_of(_PARTS, st.sampled_from(["../../etc/passwd", "a..b", ".", "loss.max", "last"]))
_COLUMNS = st.one_of(
    st.builds(Hyperparameter, st.lists(_PARTS, min_size=1, max_size=3).map(tuple)),
    st.builds(Metric, _PARTS, _NAMES, st.sampled_from([stat for stat in Stat if stat is not Stat.BEST])),
)


@given(_COLUMNS)
def test_a_shown_name_can_be_given_again(column: Column) -> None:
    assert read_column_name(name_of(column), SearchMetric()) == column
    if isinstance(column, Metric):
        listed = read_column_name(metric_name(*column.key), SearchMetric())
        assert listed == replace(column, stat=Stat.LAST), "a name without a stat means its last value"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), _COLUMNS)
def test_sql_is_made_of_fixed_pieces_whatever_a_user_writes(text: str, column: Column) -> None:
    metrics = {column.key: series_of(*Stat)} if isinstance(column, Metric) else {}
    marked = f"§{text}"
    filter_: Filter = All((Comparison(Hyperparameter((marked,)), "=", marked), Not(Absent(column))))
    statement = Cells(metrics, smaller_is_better=True).condition(filter_).compile(dialect=dialect())  # type: ignore[no-untyped-call]
    assert re.fullmatch(r"[a-zA-Z0-9_\s().,$:<>='#\[\]]*", str(statement))
    assert (marked,) in statement.params.values()


def series_of(*stats: Stat) -> FromClause:
    """A table of a metric with these columns."""
    return table("summed", *map(sql_column, stats))
