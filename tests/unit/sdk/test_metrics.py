"""`searcher.metrics` and `searcher.limits`: what a person may write, and what each mistake answers."""

import math
from typing import Any

import pytest

from muster.config import Metric, load_config
from muster.config.metrics import read_limit
from muster.errors import Rejected

BASE = """\
entrypoint: python3 train.py
hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}
searcher:
  name: random
  max_trials: 4
"""
TWO = "  metrics: [{name: accuracy, smaller_is_better: false}, {name: latency_ms}]\n"


def refused(more: str, *overrides: str) -> Rejected:
    with pytest.raises(Rejected) as caught:
        load_config(BASE + more, overrides)
    return caught.value


def test_the_first_of_several_metrics_ranks() -> None:
    searcher = load_config(BASE + TWO).searcher
    assert (searcher.metric, searcher.smaller_is_better) == ("accuracy", False)
    assert [metric.name for metric in searcher.aims] == ["accuracy", "latency_ms"]
    assert load_config(BASE + "  metric: loss\n").searcher.aims == (Metric(name="loss"),)


@pytest.mark.parametrize("more", [TWO, "  metric: loss\n  limits: ['latency_ms <= 20', 'a/b c > -1e-3']\n"])
def test_a_config_is_written_as_it_is_read(more: str) -> None:
    config = load_config(BASE + more)
    assert load_config(config.to_json()) == config
    assert ("metric" in config.model_dump()["searcher"]) == ("metrics" not in more)


@pytest.mark.parametrize(
    ("text", "met", "missed", "excess"),
    [
        ("a <= 20", 20.0, 30.0, 0.5),
        ("a < 20", 19.0, 20.0, 0.0),
        ("a>=-4", -4.0, -8.0, 1.0),
        ("a > 0", 0.1, 0.0, 0.0),
        ("a <= 0", -1.0, 3.0, 3.0),
    ],
)
def test_a_limit_says_by_how_much_it_is_missed(text: str, met: float, missed: float, excess: float) -> None:
    limit = read_limit(text)
    assert limit.is_met(met) and limit.excess(met) <= 0
    assert not limit.is_met(missed) and limit.excess(missed) == pytest.approx(excess, abs=1e-9)
    assert limit.excess(missed) > 0 and not limit.is_met(math.nan)
    assert math.isfinite(limit.excess(-1e308)) and math.isfinite(limit.excess(1e308))


MISTAKES: list[tuple[str, str, str, str]] = [
    # what stands there, code, place, a word of the message or hint
    (TWO + "  metric: accuracy\n", "invalid_value", "searcher.metric, line 7", "cannot be combined"),
    (
        TWO + "  smaller_is_better: true\n",
        "invalid_value",
        "searcher.smaller_is_better",
        "cannot be combined",
    ),
    ("  metrics: [{name: a}, {name: a}]\n", "invalid_value", "searcher.metrics[1].name", "repeated"),
    ("  metrics: [{name: a, smaller_is_better: up}]\n", "invalid_type", "metrics[0].smaller_is", "true or"),
    ("  metrics: [{name: a, direction: up}]\n", "unknown_key", "searcher.metrics[0].direction", "smaller_is"),
    ("  metrics: [{smaller_is_better: true}]\n", "missing_key", "searcher.metrics[0].name", "missing"),
    ("  metrics: [a]\n", "invalid_type", "searcher.metrics[0], line 6", "mapping"),
    ("  metrics: []\n", "missing_key", "searcher.metric, line 3", "missing"),
    (
        "  metric: a\n  limits: ['<= 20']\n",
        "invalid_value",
        "searcher.limits[0], line 7",
        "does not name a metric",
    ),
    (
        "  metric: a\n  limits: ['20 <= 30']\n",
        "invalid_value",
        "searcher.limits[0]",
        "does not name a metric",
    ),
    ("  metric: a\n  limits: [latency]\n", "invalid_value", "searcher.limits[0]", "latency_ms <= 20"),
    ("  metric: a\n  limits: [b == 3]\n", "invalid_value", "searcher.limits[0]", "is not a limit"),
    (
        "  metric: a\n  limits: [b <= c]\n",
        "invalid_value",
        "searcher.limits[0]",
        "with 'c', which is not a number",
    ),
    (
        "  metric: a\n  limits: [b <= inf]\n",
        "invalid_value",
        "searcher.limits[0]",
        "with 'inf', which is not a number",
    ),
    ("  metric: a\n  limits: [b < 5, b >= 5]\n", "invalid_value", "searcher.limits[1]", "no value satisfies"),
    ("  metric: a\n  limits: b < 5\n", "invalid_type", "searcher.limits", "list"),
    (TWO + "  sampler: cmaes\n", "invalid_value", "searcher.sampler, line 7", "several metrics"),
    (
        "  metrics: [{name: a}, {name: b}, {name: c}, {name: d}, {name: e}]\n  sampler: gp\n",
        "invalid_value",
        "searcher.sampler, line 7",
        "at most 4 metrics",
    ),
    ("  metric: a\n  limits: [b < 5]\n  sampler: cmaes\n", "invalid_value", "searcher.sampler", "limits"),
]


@pytest.mark.parametrize(("more", "code", "place", "word"), MISTAKES)
def test_a_mistake_is_named_where_it_stands(more: str, code: str, place: str, word: str) -> None:
    error: Any = refused(more)
    assert error.code == code and place in error.place and word in f"{error.message} {error.hint}"


def test_another_metric_laid_over_several_is_refused() -> None:
    assert "cannot be combined" in refused(TWO, "searcher.metric=loss").message
