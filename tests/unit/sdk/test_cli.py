"""The command line as a person meets it: what it prints, where, and how it ends."""

import io
import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import httpx
import pytest

import muster.client
from muster.cli.app import ORDER, app
from muster.cli.base.plugins import KNOWN_HELP
from tests.unit.sdk.shell import CONFIG, EXPERIMENT, ID, TRIAL, Ended, Shell

PHASES = {"trial": ID, "trial_number": 2, "state": "running", "phases": []}


def test_create_sends_the_text_as_it_is_and_says_the_number(shell: Shell, project: Path) -> None:
    ended = shell("experiment", "create", str(project / "config.yaml"))
    assert ended.code == 0 and "experiment 31" in ended.err and ended.out == ""
    assert shell.sent("POST", "/v1/experiments") == {"config_yaml": CONFIG, "code_sha256": "a" * 64}


def test_create_shows_what_is_sent_and_what_stays_out(shell: Shell, project: Path) -> None:
    (project / "weights.bin").write_bytes(b"x" * 3 * 2**20)
    (project / ".env").write_text("TOKEN=1")
    (project / ".gitignore").write_text("data\n")
    (project / "data").mkdir()
    ended = shell("experiment", "create", str(project / "config.yaml"))
    assert ended.code == 0
    shown, ignored, secrets, _ = ended.err.splitlines()
    assert shown.startswith("code: 4 files, 3.0 MiB (") and shown.endswith(
        "; the largest is weights.bin, 3.0 MiB"
    )
    assert ignored == "left out by .gitignore: data/ (a .musterignore replaces .gitignore)"
    assert secrets == (
        "left out as version control or likely secrets: .env (to send one, add a line such as !.env to .musterignore, "
        "which then replaces .gitignore)"
    )


def test_code_without_the_script_is_refused_before_anything_is_sent(shell: Shell, project: Path) -> None:
    (project / "train.py").rename(project / "fit.py")
    ended = shell("experiment", "create", str(project / "config.yaml"))
    assert ended.code == 3 and not shell.requests
    assert (
        "runs train.py, but the code does not contain it; the code has 2 files: config.yaml, fit.py"
        in ended.err
    )


def test_a_config_from_standard_input_sends_only_a_folder_that_is_named(
    shell: Shell, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def piped(text: str, *arguments: str) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return shell("experiment", "create", "-", *arguments)

    monkeypatch.chdir(project)
    ended = piped(CONFIG)
    assert ended.code == 3 and not shell.requests
    assert "name the folder (`muster experiment create - .`" in ended.err
    assert piped(CONFIG, "--no-code").code == 3, "there is no train.py"
    assert piped(CONFIG, ".", "--no-code").code == 2
    assert not shell.requests
    bare = CONFIG.replace("python3 train.py", "sleep 5")
    assert piped(bare, "--no-code").code == 0
    assert shell.sent("POST", "/v1/experiments") == {"config_yaml": bare}
    shell.requests.clear()
    assert piped(CONFIG, ".").code == 0
    assert shell.sent("POST", "/v1/experiments") == {"config_yaml": CONFIG, "code_sha256": "a" * 64}


def test_overrides_change_what_is_sent(shell: Shell, project: Path) -> None:
    ended = shell("e", "create", str(project / "config.yaml"), "--config", "searcher.metric=error", "--json")
    assert ended.code == 0 and json.loads(ended.out)["number"] == 31 and ended.err == ""
    config = shell.sent("POST", "/v1/experiments")["config"]
    assert isinstance(config, dict) and config["searcher"] == {"name": "single", "metric": "error"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name: [\n", "line 2"),
        (CONFIG + "sercher: 1\n", "line 4"),
        ("a: &a 1\nb: *a\n", "line 1"),
        ("- 1\n", "line 1"),
        (CONFIG.replace("metric: loss", "smaller_is_better: 7"), "line 3"),
    ],
)
def test_a_broken_config_is_refused_with_its_line_before_anything_is_sent(
    shell: Shell, project: Path, text: str, place: str
) -> None:
    (project / "config.yaml").write_text(text)
    ended = shell("experiment", "create", str(project / "config.yaml"))
    assert ended.code == 3 and place in ended.err and not shell.requests
    assert "Traceback" not in ended.err and len(ended.err.strip().splitlines()) == 1


def test_a_missing_config_is_named(shell: Shell) -> None:
    ended = shell("experiment", "create", "nowhere.yaml")
    assert ended.code == 3 and "nowhere.yaml" in ended.err


def test_errors_are_json_on_stderr_when_json_is_wanted(shell: Shell) -> None:
    ended = shell("experiment", "describe", "99", "--json")
    assert ended.code == 4 and ended.out == "" and json.loads(ended.err)["code"] == "not_found"


def test_an_unreachable_platform_has_its_own_exit_code(shell: Shell) -> None:
    shell.answers["GET /v1/experiments"] = httpx.ConnectError("Connection refused")
    ended = shell("experiment", "list")
    assert ended.code == 6 and "muster up" in ended.err


def test_a_fault_is_a_sentence_and_a_traceback_only_with_debug(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(muster.client, "connect", lambda: 1 / 0)
    ended = shell("whoami")
    assert ended.code == 7 and "--debug" in ended.err and "Traceback" not in ended.err
    assert "Traceback" in shell("whoami", "--debug").err


def test_lists_are_tables_for_people_and_arrays_for_programs(shell: Shell) -> None:
    assert "digits" in shell("experiment", "list").out
    assert [one["number"] for one in json.loads(shell("experiment", "list", "--json").out)] == [31]


def test_describe_shows_the_best(shell: Shell) -> None:
    assert "0.98 (trial 31.2, step 12)" in shell("experiment", "describe", "31").out


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [
        ({"id": ID, "state": "saved"}, ""),
        ({}, "; no checkpoint of this step is stored"),
        (
            {"id": ID, "state": "abandoned", "reason": "worker w is lost"},
            "; the checkpoint of this step is abandoned: worker w is lost",
        ),
        ({"id": ID, "state": "uploading"}, "; the checkpoint of this step is still being uploaded"),
    ],
)
def test_describe_says_what_became_of_the_best_checkpoint(
    shell: Shell, checkpoint: dict[str, str], said: str
) -> None:
    found = EXPERIMENT | {"best": EXPERIMENT["best"] | {"checkpoint": checkpoint}}  # type: ignore[operator]
    shell.answers["GET /v1/experiments/31"] = httpx.Response(200, json=found)
    described = " ".join(shell("experiment", "describe", "31").out.split())
    best = described.partition("best ")[2].partition(" queue")[0]
    assert best == f"0.98 (trial 31.2, step 12){said}"


def test_a_finishing_trial_is_shown_with_what_it_waits_for(shell: Shell) -> None:
    why = "1 checkpoint is not stored yet: the object store does not respond"
    late = TRIAL | {"state": "stopping", "finishing": True, "reason": why}
    page = {"items": [TRIAL | {"number": 1}, late], "next_cursor": None}
    shell.answers["GET /v1/experiments/31/trials"] = httpx.Response(200, json=page)
    listed = shell("trial", "list", "31").out
    assert "waits for" in listed and "finishing" in listed and "stopping" not in listed
    empty = httpx.Response(200, json={"items": [], "next_cursor": None})
    shell.answers |= {
        "GET /v1/trials/31.2": httpx.Response(200, json=late),
        "GET /v1/trials/31.2/runs": empty,
        "GET /v1/trials/31.2/phases": httpx.Response(200, json=PHASES),
        "GET /v1/trials/31.2/logs": empty,
    }
    described = " ".join(shell("trial", "describe", "31.2").out.split())
    assert f"state finishing reason {why}" in described


def test_code_is_listed_and_read_as_it_is(shell: Shell) -> None:
    file = {"path": "train\x1b[31m.py", "size_bytes": 2048, "sha256": "ab" * 32}
    code = {"sha256": "a" * 64, "size_bytes": 900, "unpacked_bytes": 2048, "files": [file]}
    shell.answers["GET /v1/experiments/31/code"] = httpx.Response(200, json=code)
    listed = shell("experiment", "code", "31").out
    assert "train�[31m.py" in listed and "2.0 KiB" in listed and "abababababab" in listed
    text = file | {"text": "a\t\x1b[31m = 1\n", "is_cut": True}
    shell.answers["GET /v1/experiments/31/code/file"] = httpx.Response(200, json=text)
    shown = shell("experiment", "code", "31", "train.py")
    assert shown.out == "a\t\x1b[31m = 1\n" and "first 192 KiB of 2.0 KiB" in shown.err
    assert shell.requests[-1].url.params["path"] == "train.py"
    shell.answers["GET /v1/experiments/31/code/file"] = httpx.Response(200, json=file | {"text": None})
    assert "is not a text file" in shell("experiment", "code", "31", "w.bin").err


def test_a_replay_says_in_words_what_differs_and_ends_with_one(shell: Shell) -> None:
    shell.answers["GET /v1/experiments/31/replay"] = httpx.Response(200, json={"decisions": 9, "checked": 9})
    ended = shell("experiment", "replay", "31")
    assert (ended.code, ended.out.strip()) == (0, "all 9 decisions are the same")
    said = "decision 4 ('judged' about trial 2) differs: 'stop' was true and is false now"
    difference = {"position": 4, "kind": "judged", "recorded": {}, "recomputed": {}, "summary": said}
    answer = {"decisions": 9, "checked": 4, "difference": difference}
    shell.answers["GET /v1/experiments/31/replay"] = httpx.Response(200, json=answer)
    ended = shell("experiment", "replay", "31")
    assert ended.code == 1 and said in ended.out


def test_several_metrics_are_shown_with_their_directions_and_the_front_as_a_table(shell: Shell) -> None:
    searcher = {
        "name": "random", "max_trials": 2, "limits": ["latency_ms <= 20"],
        "metrics": [{"name": "accuracy", "smaller_is_better": False}, {"name": "parameters"}],
    }  # fmt: skip
    best = {**EXPERIMENT["best"], "others": {"parameters": 1200, "latency_ms": 3}}  # type: ignore[dict-item]
    found = EXPERIMENT | {"best": best, "config": {"searcher": searcher}}
    on_front = {
        "trial": ID, "trial_number": 2, "state": "completed", "step": 12, "hyperparameters": {"lr": 0.01, "width": 8},
        "metrics": {"accuracy": 0.98, "parameters": 1200, "latency_ms": 3},
    }  # fmt: skip
    other = {**on_front, "trial_number": 1, "hyperparameters": {"lr": 0.01, "width": 4}}
    shell.answers |= {
        "GET /v1/experiments/31": httpx.Response(200, json=found),
        "GET /v1/experiments/31/front": httpx.Response(
            200, json={"items": [on_front, other], "total": 2, "admissible": 2}
        ),
    }
    words = " ".join(shell("experiment", "describe", "31").out.split())
    assert "random by accuracy ↑, parameters ↓" in words and "limits latency_ms <= 20" in words
    assert "0.98 (trial 31.2, step 12, parameters 1200, latency_ms 3)" in words
    head, first, _ = shell("experiment", "front", "31").out.splitlines()
    assert head.split() == [
        *("trial", "state", "step", "accuracy", "↑", "parameters", "↓", "latency_ms", "width"),
    ]
    assert first.split() == ["31.2", "completed", "12", "0.98", "1200", "3", "8"]


def test_a_trial_s_warnings_stand_where_it_is_described(shell: Shell) -> None:
    line = {
        "cursor": "1", "trial": ID, "trial_number": 2, "run": 1, "rank": 0, "stream": "platform",
        "level": "warning", "time": "2026-01-01T00:00:00Z", "text": "not all that was reported is kept: 'a'",
    }  # fmt: skip
    said = [line, line | {"text": "ended", "level": "info"}, line]
    shell.answers |= {
        "GET /v1/trials/31.2": httpx.Response(200, json=TRIAL),
        "GET /v1/trials/31.2/runs": httpx.Response(200, json={"items": []}),
        "GET /v1/trials/31.2/logs": httpx.Response(200, json={"items": said}),
        "GET /v1/trials/31.2/phases": httpx.Response(200, json=PHASES),
    }
    assert shell("trial", "describe", "31.2").out.count("not all that was reported is kept") == 1
    described = json.loads(shell("trial", "describe", "31.2", "--json").out)
    assert described["warnings"] == [line["text"]]
    said += [line | {"text": f"checkpoint {step} was not kept"} for step in range(50)]
    shell.answers["GET /v1/trials/31.2/logs"] = httpx.Response(200, json={"items": said})
    shown = shell("trial", "describe", "31.2")
    assert shown.out.count("was not kept") == 5 and "checkpoint 49 was not kept" in shown.out
    assert "46 more warnings: `muster trial logs 31.2 --stream platform`" in " ".join(shown.err.split())


def test_uploads_that_wait_stand_where_their_trial_is_described(shell: Shell) -> None:
    reason = "the store answered an upload with status 500"
    waiting = {"checkpoints": 2, "since": "2026-01-01T00:00:05Z", "reason": reason}
    shell.answers |= {
        "GET /v1/trials/31.2": httpx.Response(200, json=TRIAL | {"final": False}),
        "GET /v1/trials/31.2/runs": httpx.Response(200, json={"items": []}),
        "GET /v1/trials/31.2/logs": httpx.Response(200, json={"items": []}),
        "GET /v1/trials/31.2/phases": httpx.Response(200, json=PHASES | {"waiting_uploads": waiting}),
    }
    shown = " ".join(shell("trial", "describe", "31.2").out.split())
    assert "2 checkpoints wait for upload since" in shown and reason in shown
    assert json.loads(shell("trial", "describe", "31.2", "--json").out)["waiting_uploads"] == waiting


@pytest.mark.parametrize(
    ("command", "others"),
    [
        (
            ("trial", "list", "31"),
            "queued, running, parked, stopping, completed, stopped, error, cancelled, invalid",
        ),
        (
            ("experiment", "list"),
            "submitted, active, paused, stopping, completed, cancelled, error, rejected",
        ),
    ],
)
def test_a_state_is_one_of_the_words_that_there_are(
    shell: Shell, command: tuple[str, ...], others: str
) -> None:
    refused = shell(*command, "--state", "finished")
    assert refused.code == 2 and others in " ".join(refused.err.replace("│", " ").split())
    assert not shell.requests
    listed = shell("trial", "list", "31", "--state", "invalid", "--state", "error")
    assert listed.code == 0
    asked = shell.requests[-1].url.params
    assert (asked.get_list("state"), asked["invalid"]) == (["error"], "true")


def test_steering_says_the_state(shell: Shell) -> None:
    ended = shell("experiment", "pause", "31")
    assert ended.code == 0 and "paused" in ended.err


@pytest.mark.parametrize(("state", "code"), [("completed", 0), ("error", 1), ("cancelled", 1)])
def test_wait_ends_as_the_experiment_did(shell: Shell, state: str, code: int) -> None:
    shell.answers["GET /v1/experiments/31"] = httpx.Response(200, json=EXPERIMENT | {"state": state})
    assert shell("experiment", "wait", "31").code == code


def test_wait_gives_up_after_the_timeout(shell: Shell) -> None:
    running = EXPERIMENT | {"state": "active", "final": False}
    shell.answers["GET /v1/experiments/31"] = httpx.Response(200, json=running)
    ended = shell("experiment", "wait", "31", "--timeout", "0")
    assert ended.code == 6 and "still active" in ended.err


def test_fork_of_the_best_point_is_one_training(shell: Shell) -> None:
    ended = shell("experiment", "fork", "31", "--best", "--config", "resources.slots_per_trial=2")
    assert ended.code == 0 and "experiment 32" in ended.err
    assert shell.sent("POST", "/v1/experiments/31/fork")["overrides"] == {
        "hyperparameters": {"lr": 0.01},
        "searcher": {"name": "single", "max_trials": None},
        "resources": {"slots_per_trial": 2},
    }


def test_wrong_usage_is_exit_code_2(shell: Shell) -> None:
    ended = shell("experimnt", "list")
    assert ended.code == 2 and "experiment" in ended.err


def test_every_command_explains_itself_and_takes_json(shell: Shell) -> None:
    for noun, verbs in {
        "experiment": "create list describe front logs metrics wait pause resume cancel kill finish edit act fork",
        "trial": "list describe logs metrics checkpoints explain columns compare export",
        "model": "create list describe edit register download alias unalias stage approve reject compare lineage use delete",
        "worker": "list drain undrain",
        "pool": "list describe set create update delete kinds",
        "instance": "list drain terminate",
        "limit": "list set",
        "retention": "list set",
        "user": "create list show disable enable token",
        "group": "create list add remove delete",
        "role": "list show create edit delete grant bindings revoke",
        "tenant": "create list",
        "queue": "list explain priority weight limit move",
    }.items():
        for verb in verbs.split():
            shown = shell(noun, verb, "--help")
            assert shown.code == 0 and "--json" in shown.out, (noun, verb)
    for command in ("queue", "usage", "cost", "trace", "tensorboard", "health", "login", "whoami"):
        assert "--json" in shell(command, "--help").out


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("pause", "pausing experiment 31; state: paused"),
        ("archive", "experiment 31 is archived"),
    ],
)
def test_steering_says_what_came_of_it(shell: Shell, verb: str, said: str) -> None:
    shell.answers["POST /v1/experiments/31/archive"] = httpx.Response(200, json=EXPERIMENT)
    assert shell("experiment", verb, "31").err == said + "\n"


def test_every_command_says_in_the_list_what_it_does(shell: Shell) -> None:
    named = {entry.name for entry in entry_points(group="muster.commands")}
    assert named - set(ORDER) <= set(KNOWN_HELP)
    assert {group.name for group in app.registered_groups} | {
        command.name for command in app.registered_commands
    } <= {*ORDER}
    assert "From " not in shell("--help").out


def test_help_pays_for_no_heavy_import() -> None:
    code = (
        "import sys, muster.cli.app; "
        "print([name for name in ('httpx', 'pydantic', 'rich', 'yaml', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_running_search_is_changed_and_what_holds_now_is_said(shell: Shell) -> None:
    stands = EXPERIMENT | {"max_concurrent_trials": 8, "trials": {"planned": 50}}
    shell.answers["PATCH /v1/experiments/31/search"] = httpx.Response(200, json=stands)
    shown = shell("experiment", "edit", "31", "--max-trials", "50", "--max-concurrent-trials", "8")
    assert shown.err.split() == "experiment 31: 50 trials, at most 8 at once".split()
    assert json.loads(shell.requests[-1].content) == {"max_trials": 50, "max_concurrent_trials": 8}


def test_a_budget_is_changed_and_shown(shell: Shell) -> None:
    budget = {"slot_hours": 30, "deadline": "2026-12-24T18:00:00Z", "used_slot_hours": 1.5, "used_cost": 0.0}
    stands = EXPERIMENT | {"max_concurrent_trials": 8, "trials": {"planned": 50}, "budget": budget}
    shell.answers["PATCH /v1/experiments/31/search"] = httpx.Response(200, json=stands)
    shell.answers["GET /v1/experiments/31"] = httpx.Response(200, json=stands)
    given = ("--slot-hours", "30", "--cost", "none", "--deadline", "2026-12-24T18:00Z")
    said = "1.5 of 30 slot-hours, until 2026-12-24 18:00 UTC"
    assert said in " ".join(shell("experiment", "edit", "31", *given).err.split())
    sent = {"slot_hours": 30.0, "deadline": "2026-12-24T18:00:00+00:00", "no_cost": True}
    assert json.loads(shell.requests[-1].content) == sent
    assert said in " ".join(shell("experiment", "describe", "31").out.split())


@pytest.mark.parametrize("given", [("--slot-hours", "many"), ("--deadline", "soon")])
def test_what_is_no_limit_is_refused_before_anything_is_sent(shell: Shell, given: tuple[str, str]) -> None:
    refused = shell("experiment", "edit", "31", *given)
    assert refused.code == 3 and given[1] in refused.err and shell.requests == []


def test_a_trial_is_killed_by_its_name(shell: Shell) -> None:
    shell.answers["POST /v1/trials/31.2/kill"] = httpx.Response(200, json=TRIAL | {"state": "stopping"})
    ended = shell("trial", "kill", "31.2")
    assert (ended.code, ended.err.split()) == (
        0,
        "trial 31.2 is being killed; state: stopping".split(),
    )
    assert json.loads(shell("trial", "kill", "31.2", "--json").out)["state"] == "stopping"


@pytest.mark.parametrize(
    ("state", "best", "word"), [("completed", None, "warning"), ("error", None, "reason")]
)
def test_a_training_that_recorded_nothing_completes_with_a_warning(
    shell: Shell, state: str, best: None, word: str
) -> None:
    told = EXPERIMENT | {"state": state, "best": best, "reason": "no trial ever reported"}
    shell.answers["GET /v1/experiments/31"] = httpx.Response(200, json=told)
    lines = [line.split() for line in shell("experiment", "describe", "31").out.splitlines()]
    assert [word, "no", "trial", "ever", "reported"] in lines
