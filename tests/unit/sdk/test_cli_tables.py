"""Tables of trials as a person meets them: what is asked of the platform, and what stands on the screen."""

import json

import httpx
import pytest

from muster.cli.trials.trial_table import names_in
from tests.unit.sdk.shell import EXPERIMENT, ID, TRIAL, Shell

TABLE = "GET /v1/experiments/31/table"


def rows(*values: dict[str, object]) -> httpx.Response:
    items = [
        {"trial": ID, "experiment_number": 31, "number": number, "state": "running", "values": cells}
        for number, cells in enumerate(values, start=1)
    ]
    return httpx.Response(200, json={"columns": list(values[0]) if values else [], "items": items})


def test_a_filter_makes_the_list_of_trials_a_table(shell: Shell) -> None:
    shell.answers[TABLE] = rows(
        {"hparams.optimizer.name": "adam", "hparams.model.name": "mlp", "metrics.validation.loss.last": 0.25}
    )
    shown = shell(
        "trial", "list", "31", "--filter", "hparams.lr < 1", "--sort", "-best", "--columns", 'a,"b,c"'
    )
    assert shown.code == 0
    assert shown.out.splitlines()[0].split() == ["trial", "optimizer.name", "model.name", "loss.last"]
    assert shown.out.splitlines()[1].split() == ["31.1", "adam", "mlp", "0.25"]
    query = shell.requests[-1].url.params
    assert (query["filter"], query["sort"]) == ("hparams.lr < 1", "-best")
    assert query.get_list("column") == ["a", '"b,c"']
    assert json.loads(shell("trial", "list", "31", "--sort", "best", "--json").out)[0]["number"] == 1


def test_a_state_belongs_into_the_filter(shell: Shell) -> None:
    refused = shell("trial", "list", "31", "--state", "running", "--filter", "number > 1")
    assert refused.code == 2 and "combine it into the filter" in refused.err


@pytest.mark.parametrize(
    ("options", "sort"),
    [
        ((), "best"),
        (("--metric", "validation.f1"), "metrics.validation.f1.min"),
        (("--metric", "validation.f1", "--greatest"), "-metrics.validation.f1.max"),
    ],
)
def test_the_best_trials_are_those_first_in_order(shell: Shell, options: tuple[str, ...], sort: str) -> None:
    shell.answers[TABLE] = rows({"best": 0.1}, {"best": 0.2})
    shown = shell("experiment", "best", "31", "--count", "1", *options)
    assert shown.code == 0 and "31.1" in shown.out and "31.2" not in shown.out
    assert (shell.requests[-1].url.params["sort"], shell.requests[-1].url.params["limit"]) == (sort, "1")


def test_trials_are_compared_with_what_differs_first(shell: Shell) -> None:
    shell.answers["GET /v1/experiments/31/columns"] = httpx.Response(
        200, json={"columns": ["number", "state", "hparams.a", "hparams.b", "metrics.validation.loss"]}
    )
    shell.answers[TABLE] = rows({"hparams.a": 1, "hparams.b": "x"}, {"hparams.a": 1, "hparams.b": "y"})
    shown = shell("trial", "compare", "31.2", "31.1")
    assert [line.split() for line in shown.out.splitlines()] == [
        ["31.2", "31.1"],
        ["hparams.b", "y", "x"],
        ["hparams.a", "1", "1"],
    ]
    asked = shell.requests[-1].url.params
    assert asked["filter"] == "number in (2, 1)"
    assert asked.get_list("column") == ["state", "hparams.a", "hparams.b", "metrics.validation.loss"]
    missing = shell("trial", "compare", "31.1", "31.9")
    assert missing.code != 0 and "trial 31.9 was not found" in missing.err


def test_names_in_quotes_may_hold_commas() -> None:
    assert names_in('a, metrics.x."top, 5".max ,') == ["a", 'metrics.x."top, 5".max']
    assert names_in(None) == []


def test_what_a_trial_did_when_is_shown_phase_by_phase(shell: Shell) -> None:
    def phase(kind: str, began: int, ended: int | None, **more: object) -> dict[str, object]:
        times = [None if at is None else f"2026-01-01T00:00:{at:02}Z" for at in (began, ended)]
        return {"kind": kind, "run": 1, "began_at": times[0], "ended_at": times[1], **more}

    phases = [
        phase("queued", 0, 4, run=None),
        phase("preparing", 4, 7),
        phase("fetching_code", 5, 7, within="preparing"),
        phase("starting", 7, None),
    ]
    told = {"trial": ID, "trial_number": 2, "state": "running", "phases": phases}
    shell.answers["GET /v1/trials/31.2/phases"] = httpx.Response(200, json=told)
    lines = [line.split() for line in shell("trial", "phases", "31.2").out.splitlines()]
    assert [line[1:3] for line in lines[2:]] == [["preparing", "–"], ["fetching", "code"], ["starting", "–"]]
    assert [line[-3:-1] for line in lines[1:]] == [
        ["4.0", "s"],
        ["3.0", "s"],
        ["2.0", "s"],
        ["00:00:07", "running"],
    ]


def test_phases_name_the_image_that_was_pulled(shell: Shell) -> None:
    times = {"began_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:02Z"}
    image = "ghcr.io/team/train@sha256:1"
    pull = {"kind": "making_environment", "run": 1, "within": "preparing", "image": image, **times}
    told = {"trial": ID, "trial_number": 2, "state": "running", "phases": [pull]}
    shell.answers["GET /v1/trials/31.2/phases"] = httpx.Response(200, json=told)
    shown = shell("trial", "phases", "31.2").out
    assert "pulling image" in shown and f"image: {image}" in shown


def test_phases_stand_along_an_axis_of_times_and_an_upload_that_waits_says_why(shell: Shell) -> None:
    def phase(kind: str, began: int, ended: int | None, **more: object) -> dict[str, object]:
        times = [None if at is None else f"2026-01-01T00:00:{at:02}Z" for at in (began, ended)]
        return {"kind": kind, "run": 1, "began_at": times[0], "ended_at": times[1], **more}

    phases = [phase("training", 0, 10), phase("uploading_checkpoint", 5, 20, step=7, within="training")]
    told = {"trial": ID, "trial_number": 2, "state": "running", "phases": phases}
    shell.answers["GET /v1/trials/31.2/phases"] = httpx.Response(200, json=told)
    head, training, upload = shell("trial", "phases", "31.2").out.splitlines()
    assert [time.rpartition(":")[2] for time in head.split()[-3:]] == ["00", "10", "20"]
    first = head.index(head.split()[-3])
    assert training[first:].rstrip() == "█" * 20
    assert upload[first:].rstrip() == " " * 10 + "█" * 30
    reason = "the store answered an upload with status 500"
    phases[1] |= {"ended_at": None, "reason": reason}
    told["waiting_uploads"] = {"checkpoints": 2, "since": "2026-01-01T00:00:05Z", "reason": reason}
    shell.answers["GET /v1/trials/31.2/phases"] = httpx.Response(200, json=told)
    shown = shell("trial", "phases", "31.2").out
    assert "2 checkpoints wait for upload since" in shown and reason in shown


def test_no_more_trials_are_listed_than_the_limit(shell: Shell) -> None:
    listed = [TRIAL | {"number": number} for number in (1, 2, 3)]
    shell.answers["GET /v1/experiments/31/trials"] = httpx.Response(
        200, json={"items": listed, "next_cursor": "more"}
    )
    shown = shell("trial", "list", "31", "--limit", "2")
    assert shown.code == 0 and "31.2" in shown.out and "31.3" not in shown.out
    assert shell.requests[-1].url.params["limit"] == "2"
    shell.answers[TABLE] = rows({"best": 0.1}, {"best": 0.2})
    shown = shell("trial", "list", "31", "--sort", "best", "--limit", "1")
    assert shown.code == 0 and "31.1" in shown.out and "31.2" not in shown.out
    assert shell("trial", "list", "31", "--limit", "0").code == 2


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"running": 1, "parked": 2}, "pausing"),
        ({"stopping": 1}, "pausing"),
        ({"parked": 2, "finishing": 1}, "paused"),
    ],
)
def test_an_experiment_is_pausing_until_its_trials_have_released_their_slots(
    shell: Shell, counts: dict[str, int], state: str
) -> None:
    paused = EXPERIMENT | {"state": "paused", "final": False, "trials": counts}
    answer = httpx.Response(200, json=paused)
    shell.answers |= {
        "GET /v1/experiments": httpx.Response(200, json={"items": [paused], "next_cursor": None}),
        "GET /v1/experiments/31": answer,
        "POST /v1/experiments/31/pause": answer,
    }
    assert shell("experiment", "list").out.splitlines()[1].split()[2] == state
    assert f"state {state} " in " ".join(shell("experiment", "describe", "31").out.split())
    assert shell("experiment", "pause", "31").err == f"pausing experiment 31; state: {state}\n"


@pytest.mark.parametrize(
    ("noun", "given", "asked"),
    [
        ("experiment", "active", "active"),
        ("experiment", "running", "active"),
        ("experiment", "failed", "error"),
        ("trial", "running", "running"),
        ("trial", "active", "running"),
        ("trial", "failed", "error"),
    ],
)
def test_states_are_found_by_the_words_of_experiments_and_of_trials(
    shell: Shell, noun: str, given: str, asked: str
) -> None:
    empty = httpx.Response(200, json={"items": [], "next_cursor": None})
    shell.answers |= {"GET /v1/experiments": empty, "GET /v1/experiments/31/trials": empty}
    named = ("31",) if noun == "trial" else ()
    assert shell(noun, "list", *named, "--state", given).code == 0
    assert shell.requests[-1].url.params["state"] == asked
