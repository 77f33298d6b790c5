"""What may be called how."""

import pytest
from hypothesis import given, strategies as st

from services.registry.checkpoints.core.manifest import refuse_manifest
from services.registry.core.names import refuse_path
from services.registry.models.core.names import model_key, refuse_alias, refuse_model_name
from services.registry.series.core.names import (
    METRICS_PER_REPORT,
    SERIES_PER_RUN,
    choose_new_series,
    refuse_metric_name,
    refuse_report,
)

SHA = "0" * 64


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("digits", None),
        ("Zähler 3", None),
        ("", "model_name_blank"),
        ("  ", "model_name_blank"),
        (" digits", "model_name_blank"),
        ("a/b", "model_name_characters"),
        ("a@champion", "model_name_characters"),
        ("..", "model_name_characters"),
        ("a\x00", "model_name_characters"),
        ("12345", "model_name_digits"),
        ("x" * 129, "model_name_long"),
    ],
)
def test_model_names(name: str, code: str | None) -> None:
    refusal = refuse_model_name(name)
    assert (refusal.code if refusal else None) == code


def test_models_differ_in_more_than_case() -> None:
    assert model_key("Digits") == model_key("DIGITS") != model_key("digit")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("loss", None),
        ("val/accuracy@5", None),
        ("", "metric_name_blank"),
        ("x" * 10_000, "metric_name_long"),
        ("ä" * 200, "metric_name_long"),
        ("a\x00b", "metric_name_characters"),
        ("a\ud800", "metric_name_characters"),
    ],
)
def test_metric_names(name: str, code: str | None) -> None:
    refusal = refuse_metric_name(name)
    assert (refusal.code if refusal else None) == code


def test_a_million_names_are_refused_with_the_limit_in_the_reason() -> None:
    assert refuse_report(METRICS_PER_REPORT) is None
    refusal = refuse_report(1_000_000)
    assert refusal is not None and str(METRICS_PER_REPORT) in refusal.reason


def test_of_too_many_names_the_first_are_kept_and_those_of_validations() -> None:
    known = [("training", f"k{number}") for number in range(SERIES_PER_RUN - 1)]
    flood = [("training", f"m{number}") for number in range(3)]
    validated = [("validation", "loss"), ("validation", "accuracy")]
    begun, refusal = choose_new_series(known, [*flood, *validated])
    assert set(begun) == {flood[0], *validated}
    assert refusal is not None and refusal.code == "series_too_many" and str(SERIES_PER_RUN) in refusal.reason
    assert choose_new_series(known, [flood[0]]) == ([flood[0]], None)
    full = [("validation", f"v{number}") for number in range(SERIES_PER_RUN)]
    assert choose_new_series(full, validated)[0] == []
    assert choose_new_series(full, flood) == (flood, None)


@pytest.mark.parametrize("path", ["model.pt", "weights/layer 1.bin", "a/b/c", "…/x", ".hidden"])
def test_paths_that_may_be(path: str) -> None:
    assert refuse_path(path) is None


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/.", "a\\b", "a\nb", "x" * 2000],
)
def test_paths_that_may_not_be(path: str) -> None:
    assert refuse_path(path) is not None


@given(st.text())
def test_a_path_that_may_be_stays_below_its_folder(path: str) -> None:
    if refuse_path(path) is None:
        assert not path.startswith("/")
        assert ".." not in path.split("/")


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ([("a", 1, SHA)], None),
        ([], "manifest_length"),
        ([("a", 1, SHA), ("a", 1, SHA)], "path_twice"),
        ([("a", 1, SHA), ("a/b", 1, SHA)], "path_twice"),
        ([("a", -1, SHA)], "manifest_entry"),
        ([("a", 5 * 1024**4, SHA)], None),
        ([("a", 5 * 1024**4 + 1, SHA)], "manifest_entry"),
        ([("a", 1, "XYZ")], "manifest_entry"),
        ([("../a", 1, SHA)], "path_unsafe"),
    ],
)
def test_manifests(files: list[tuple[str, int, str]], code: str | None) -> None:
    refusal = refuse_manifest(files)
    assert (refusal.code if refusal else None) == code


@pytest.mark.parametrize(
    ("alias", "fine"),
    [
        ("champion", True),
        ("v1.2", True),
        ("7", False),
        ("latest", False),
        ("a b", False),
        ("", False),
    ],
)
def test_aliases(alias: str, fine: bool) -> None:
    assert (refuse_alias(alias) is None) is fine
