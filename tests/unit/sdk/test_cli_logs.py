"""Log lines on the command line: of a trial, and looked for everywhere."""

import httpx
import pytest

from tests.unit.sdk.shell import ID, Shell


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ((), "the log is empty: the trial has printed nothing"),
        (("--rank", "3"), "no such lines in the log"),
        (("--since", "2h"), "no such lines in the log"),
        (("--until", "soon"), "'soon' is not a time"),
    ],
)
def test_a_log_without_lines_is_told_apart_from_one_without_such_lines(
    shell: Shell, filters: tuple[str, ...], said: str
) -> None:
    shell.answers["GET /v1/trials/31.2/logs"] = httpx.Response(200, json={"items": []})
    assert said in shell("trial", "logs", "31.2", *filters).err


def test_search_asks_for_what_was_said_and_names_where_it_was_found(shell: Shell) -> None:
    line = {
        "cursor": "4.7", "trial": ID, "trial_number": 4, "experiment_number": 31, "run": 1, "rank": 2,
        "stream": "stdout", "time": "2026-01-01T00:00:00Z", "text": "CUDA out of memory",
    }  # fmt: skip
    shell.answers["GET /v1/logs"] = httpx.Response(200, json={"items": [line]})
    ended = shell(
        "search", "out of memory", "--experiment", "31", "--level", "error", "--since", "2026-01-01"
    )
    assert ended.code == 0
    assert "trial 31.4 rank 2" in ended.out
    asked = shell.requests[-1].url.params
    assert {name: asked[name] for name in ("contains", "experiment", "level", "since")} == {
        "contains": "out of memory",
        "experiment": "31",
        "level": "error",
        "since": "2026-01-01T00:00:00+00:00",
    }
