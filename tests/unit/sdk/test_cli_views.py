"""Pictures in a terminal: sketches, tables of trials, trees of spans."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from muster.cli.base.output import cell, number, size, table
from muster.cli.tracing.spans import load, summed, tree
from muster.cli.trials.render import flat, print_log_line, sketch, varying
from muster.client.forking import merge_patch
from muster.client.models import LogLine, Trial

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


def applied(target: object, patch: object) -> object:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = applied(result.get(key), value)
    return result


def without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return value


@given(OBJECTS, OBJECTS)
def test_the_patch_turns_the_old_into_the_new(old: dict[str, object], new: dict[str, object]) -> None:
    patch = merge_patch(old, new)  # type: ignore[arg-type]
    assert without_nulls(applied(old, patch)) == without_nulls(new)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=200))
def test_a_sketch_has_a_bar_for_each_value_up_to_its_width(values: list[float]) -> None:
    assert len(sketch(values)) == min(len(values), 24)


def test_a_sketch_shows_the_course() -> None:
    assert sketch([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"


def test_numbers_and_sizes_are_short() -> None:
    assert [number(value) for value in (0.98, 0.00001234, 1234567.0, 0.0, 12.0)] == [
        "0.98", "1.234e-05", "1.235e+06", "0", "12",
    ]  # fmt: skip
    assert [size(count) for count in (0, 1536, 5 << 30)] == ["0 B", "1.5 KiB", "5.0 GiB"]


def test_names_and_logs_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert cell("a\x1b]0;evil\x07b[red]") == "a�]0;evil�b\\[red]"
    line = {
        "cursor": "c", "trial": "018f0000-0000-7000-8000-000000000001", "trial_number": 1, "run": 1, "rank": 0,
        "stream": "stdout", "time": "2026-01-01T00:00:00Z", "text": "\x1b[2Jloss \x1b[31m0.5\x1b[0m [bold]",
    }  # fmt: skip
    print_log_line(LogLine.model_validate(line))
    assert capsys.readouterr().out == "00:00:00 [trial 1 rank 0] loss 0.5 [bold]\n"


def test_only_what_differs_between_trials_gets_a_column() -> None:
    base = {
        "id": "018f0000-0000-7000-8000-000000000001", "experiment": "018f0000-0000-7000-8000-000000000001",
        "experiment_number": 1, "number": 1, "state": "queued", "seed": 1, "slots": 1, "version": 1,
        "created_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    trials = [
        Trial.model_validate(base | {"hyperparameters": {"opt": {"lr": lr}, "width": 8}}) for lr in (0.1, 0.2)
    ]
    assert varying(trials) == ["opt.lr"]
    assert dict(flat(trials[0].hyperparameters)) == {"opt.lr": 0.1, "width": 8}


def span(trace: str, name: str, parent: str | None, start: int, end: int, **more: object) -> str:
    known: dict[str, object] = {
        "trace_id": trace, "span_id": name, "parent_id": parent, "name": name, "service": "gateway",
        "start_ns": start, "end_ns": end, "error": None, "attributes": {}, "links": [],
    }  # fmt: skip
    return json.dumps(known | more)


def test_spans_of_several_files_become_one_tree(tmp_path: Path) -> None:
    (tmp_path / "gateway-1.jsonl").write_text(
        "\n".join(
            [
                span("t1", "root", None, 0, 9_000_000),
                span("t2", "other", None, 0, 1),
                "{cut",
            ]
        )
    )
    (tmp_path / "searcher-2.jsonl.1").write_text(
        "\n".join(
            [
                span("t1", "late", "root", 5_000_000, 6_000_000, service="searcher"),
                span("t1", "early", "root", 2_000_000, 3_000_000, service="searcher"),
                span("t1", "orphan", "unknown", 7_000_000, 8_000_000),
                span("t3", "linked", None, 0, 4_000_000, links=[["t1", "root"]]),
            ]
        )
    )
    own, others = load(tmp_path, "t1")
    roots = tree(own)
    assert [node.name for node in roots] == ["root", "orphan"]
    assert [node.name for node in roots[0].children] == ["early", "late"]
    assert roots[0].size == 3 and roots[0].services == {"gateway", "searcher"}
    assert [(one.name, one.count, one.median_ms) for one in summed(others)] == [("linked", 1, 4.0)]


def test_a_narrow_terminal_cuts_no_column(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    table(("name", "state", "reason"), [("a-name-of-some-length", "completed", "words " * 9)], "none")
    printed = capsys.readouterr().out
    assert "a-name-of-some-length" in printed and "completed" in printed and "…" not in printed
