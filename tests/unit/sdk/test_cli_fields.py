"""`--fields`: of what is listed, the fields that were named."""

import json

import httpx

from tests.unit.sdk.shell import EXPERIMENT, Shell

TWO = httpx.Response(
    200,
    json={"items": [EXPERIMENT | {"labels": ["nightly", "old"]}, EXPERIMENT | {"number": 32, "best": None}]},
)


def test_fields_are_columns_in_their_order(shell: Shell) -> None:
    shell.answers["GET /v1/experiments"] = TWO
    shown = shell("experiment", "list", "--fields", "best.value, number,labels").out
    assert [line.split() for line in shown.splitlines()] == [
        ["best.value", "number", "labels"],
        ["0.98", "31", "nightly,", "old"],
        ["–", "32"],
    ]


def test_the_rest_is_left_out_of_the_json_as_the_api_leaves_it_out(shell: Shell) -> None:
    shell.answers["GET /v1/experiments"] = TWO
    shown = shell("experiment", "list", "--fields", "number,best.value,created_at", "--json").out
    since = "2026-01-01T00:00:00Z"
    assert json.loads(shown) == [
        {"number": 31, "best": {"value": 0.98}, "created_at": since},
        {"number": 32, "best": None, "created_at": since},
    ]


def test_a_whole_field_is_not_narrowed_by_a_part_of_it(shell: Shell) -> None:
    shown = shell("experiment", "list", "--fields", "best,best.value", "--json").out
    assert json.loads(shown)[0]["best"]["trial_number"] == 2


def test_a_field_that_none_has_is_refused_with_those_that_there_are(shell: Shell) -> None:
    for name in ("colour", "best.colour"):
        refused = shell("experiment", "list", "--fields", name)
        assert refused.code == 3 and name in refused.err and "created_at" in refused.err and not refused.out


def test_where_nothing_is_listed_that_is_said(shell: Shell) -> None:
    shell.answers["GET /v1/experiments"] = httpx.Response(200, json={"items": []})
    assert "no experiments" in shell("experiment", "list", "--fields", "number").err
