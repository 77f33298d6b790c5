"""`muster config check`: what it explains, and which mistakes of a site engineer it finds."""

import json
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deploy.checks.commands import config
from deploy.checks.configuration import values
from deploy.checks.configuration.checking import MASK, ConfigReport, Problem, check_configuration
from deploy.checks.configuration.processes import PROCESSES, choose_processes
from deploy.checks.configuration.reference import known_settings
from deploy.checks.configuration.values import Value, read_values
from muster.errors import Rejected
from tests.support.test_ca import HERE, authority
from worker.connection.join_command import JOIN_FILE, JoinSettings

POSTGRES = {
    "MUSTER_POSTGRES__TENANT_URL": "postgresql://t:hush@db/muster",
    "MUSTER_POSTGRES__SYSTEM_URL": "postgresql://s:hush@db/muster",
}
STORE = {"MUSTER_S3__URL": "http://s3:9000", "MUSTER_S3__ACCESS_KEY": "key", "MUSTER_S3__SECRET_KEY": "hush"}
REGISTRY = POSTGRES | STORE


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("MUSTER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def gateway(tmp_path: Path) -> dict[str, str]:
    return POSTGRES | {"MUSTER_GATEWAY__ADMIN_TOKEN_FILE": str(tmp_path / "secrets" / "admin-token")}


def check(process: str, given: dict[str, str], tmp_path: Path) -> ConfigReport:
    file = tmp_path / f"{process}.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    return check_configuration((process,), read_values([file]))


def the_problem(report: ConfigReport) -> Problem:
    assert len(report.problems) == 1, report.problems
    assert report.problems[0].remedy
    return report.problems[0]


@pytest.mark.parametrize("process", PROCESSES)
def test_every_setting_has_a_meaning(process: str) -> None:
    assert [one.name for one in known_settings(process) if not one.meaning] == []


def test_valid_settings_have_no_problem(tmp_path: Path) -> None:
    report = check("registry", REGISTRY, tmp_path)
    assert report.problems == () and report.is_ok


def test_a_setting_is_explained_with_its_source(tmp_path: Path) -> None:
    report = check("registry", REGISTRY | {"MUSTER_REGISTRY__LANES": "4", "MUSTER_REGISTRY": "{}"}, tmp_path)
    by_name = {one.name: one for one in report.processes[0].explained}
    lanes = by_name["MUSTER_REGISTRY__LANES"]
    assert (lanes.value, lanes.default, lanes.source) == ("4", "2", f"{tmp_path}/registry.env:6")
    assert lanes.meaning.startswith("Concurrent transactions") and lanes.kind == "integer >= 1 and <= 16"
    assert by_name["MUSTER_LOG__LEVEL"].source == "default"
    assert by_name["MUSTER_LOG__LEVEL"].kind == "one of: debug, info, warning, error"
    assert by_name["MUSTER_POSTGRES__TENANT_URL"].is_required
    assert not by_name["MUSTER_NATS__URL"].is_required


def test_a_section_may_be_one_json_object(tmp_path: Path) -> None:
    values = REGISTRY | {"MUSTER_REGISTRY": json.dumps({"lanes": 5})}
    report = check("registry", values, tmp_path)
    assert report.is_ok
    found = next(one for one in report.processes[0].explained if one.name == "MUSTER_REGISTRY__LANES")
    assert found.value == "5"


def test_secrets_and_passwords_are_not_shown(tmp_path: Path) -> None:
    report = check("registry", REGISTRY | {"MUSTER_NATS__URL": "nats://me:hush@bus:4222"}, tmp_path)
    assert "hush" not in json.dumps(report.to_json())
    by_name = {one.name: one.value for one in report.processes[0].explained}
    assert by_name["MUSTER_S3__SECRET_KEY"] == MASK
    assert by_name["MUSTER_NATS__URL"] == "nats://***@bus:4222"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("MUSTER_REGISTRY__LANE", "MUSTER_REGISTRY__LANES"),
        ("MUSTER_REGISTRY_LANES", "MUSTER_REGISTRY__LANES"),
        ("MUSTER_NATZ__URL", "MUSTER_NATS__URL"),
        ("MUSTER_GATEWAY__PROT", "MUSTER_GATEWAY__PORT"),
        ("MUSTER_TOKNE", "MUSTER_TOKEN"),
    ],
)
def test_a_misspelt_name_is_an_error_with_the_nearest_one(tmp_path: Path, name: str, near: str) -> None:
    found = the_problem(check("registry", REGISTRY | {name: "1"}, tmp_path))
    assert (found.level, found.name, found.remedy) == ("error", name, f"did you mean {near}?")
    assert found.source == f"{tmp_path}/registry.env:6"


def test_a_name_that_resembles_none_is_a_warning(tmp_path: Path) -> None:
    report = check("registry", REGISTRY | {"MUSTER_CHRISTMAS_PARTY": "yes"}, tmp_path)
    assert the_problem(report).level == "warning" and report.is_ok


@pytest.mark.parametrize(
    ("process", "more", "name", "said"),
    [
        ("registry", {"MUSTER_REGISTRY__LANES": "many"}, "MUSTER_REGISTRY__LANES", "valid integer"),
        ("registry", {"MUSTER_REGISTRY__LANES": "17"}, "MUSTER_REGISTRY__LANES", "less than or equal to 16"),
        ("registry", {"MUSTER_LOG__LEVEL": "loud"}, "MUSTER_LOG__LEVEL", "'debug', 'info'"),
        ("registry", {"MUSTER_S3__URL": ""}, "MUSTER_S3__URL", "is missing"),
        ("registry", {"MUSTER_S3__URL": "s3:9000"}, "MUSTER_S3__URL", "http://HOST:PORT"),
        ("registry", {"MUSTER_NATS__URL": "bus:4222"}, "MUSTER_NATS__URL", "nats://HOST:PORT"),
        ("registry", {"MUSTER_POSTGRES__URL": "postgresql://x"}, "MUSTER_POSTGRES__URL", "not a setting"),
        ("registry", {"MUSTER_SIDE__HOST": "0.0.0.0"}, "MUSTER_SIDE", "MUSTER_SIDE__TOKEN"),
        ("registry", {"MUSTER_NATS__CREDENTIALS": "/nowhere"}, "MUSTER_NATS__CREDENTIALS", "No such file"),
        ("gateway", {"MUSTER_GATEWAY__ALLOWED_HOSTS": "muster.example"}, "MUSTER_GATEWAY__ALLOWED_HOSTS", "JSON list"),
        ("gateway", {"MUSTER_GATEWAY__SIGN_IN_FILE": "/nowhere"}, "MUSTER_GATEWAY__SIGN_IN_FILE", "No such file"),
        ("gateway", {"MUSTER_GATEWAY__SECRETS__KEYS": "short"}, "MUSTER_GATEWAY__SECRETS", "64 hexadecimal"),
        ("gateway", {"MUSTER_REDIS__URL": "http://x"}, "MUSTER_REDIS__URL", "redis://HOST:PORT"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(
    tmp_path: Path, gateway: dict[str, str], process: str, more: dict[str, str], name: str, said: str
) -> None:
    found = the_problem(check(process, (REGISTRY if process == "registry" else gateway) | more, tmp_path))
    assert (found.level, found.name) == ("error", name)
    assert said in found.problem and "hush" not in found.problem


def test_a_file_that_is_no_credential_is_found(tmp_path: Path) -> None:
    wrong = tmp_path / "seed"
    wrong.write_text("SUAC")
    found = the_problem(check("registry", REGISTRY | {"MUSTER_NATS__CREDENTIALS": str(wrong)}, tmp_path))
    assert ".creds" in found.problem


def test_a_certificate_without_its_key_is_refused(tmp_path: Path, gateway: dict[str, str]) -> None:
    ca = authority("site")
    (tmp_path / "cert.pem").write_bytes(ca.issue(HERE)[0])
    (tmp_path / "key.pem").write_bytes(ca.issue(HERE)[1])
    gateway["MUSTER_GATEWAY__TLS_CERTIFICATE_FILE"] = str(tmp_path / "cert.pem")
    assert "tls_key_file" in the_problem(check("gateway", gateway, tmp_path)).problem
    gateway["MUSTER_GATEWAY__TLS_KEY_FILE"] = str(tmp_path / "key.pem")
    found = the_problem(check("gateway", gateway, tmp_path))
    assert found.name == "MUSTER_GATEWAY__TLS_CERTIFICATE_FILE" and "KEY_VALUES_MISMATCH" in found.problem


def test_the_check_creates_no_file_of_the_first_start(tmp_path: Path, gateway: dict[str, str]) -> None:
    assert check("gateway", gateway, tmp_path).is_ok
    assert not (tmp_path / "secrets").exists()


def test_an_admin_token_that_is_none_is_found(tmp_path: Path, gateway: dict[str, str]) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "admin-token").write_text("password")
    assert the_problem(check("gateway", gateway, tmp_path)).name == "MUSTER_GATEWAY__ADMIN_TOKEN_FILE"


def test_combinations_that_a_start_refuses_are_found(tmp_path: Path) -> None:
    provisioner = POSTGRES | {
        "MUSTER_PROVISIONER__DIRECTORY": str(tmp_path),
        "MUSTER_PROVISIONER__GATEWAY_URL": "http://127.0.0.1:8080",
        "MUSTER_PROVISIONER__SLOT_KIND": "cpu",
        "MUSTER_PROVISIONER__MINIMUM": "9",
        "MUSTER_PROVISIONER__MAXIMUM": "3",
    }
    assert "above the maximum" in the_problem(check("provisioner", provisioner, tmp_path)).problem
    worker = {
        "MUSTER_WORKER__ID": "w1",
        "MUSTER_WORKER__DIRECTORY": str(tmp_path / "worker"),
        "MUSTER_WORKER__KIND": "cpu",
        "MUSTER_WORKER__SANDBOX": "none",
        "MUSTER_WORKER__UID_RANGE": "0-99",
    }
    found = {problem.name for problem in check("worker", worker, tmp_path).problems}
    assert found == {"MUSTER_WORKER__UID_RANGE", "MUSTER_WORKER__JOIN_TOKEN"}
    worker |= {"MUSTER_WORKER__SANDBOX": "auto", "MUSTER_WORKER__USER": "nobody"}
    names = [problem.name for problem in check("worker", worker, tmp_path).problems]
    assert len(names) == len(set(names)), "one mistake is one problem"


def test_an_issuer_file_of_another_kind_is_found(tmp_path: Path) -> None:
    (tmp_path / "issuer.json").write_text('{"seed": 1}')
    values = POSTGRES | {"MUSTER_SCHEDULER__WORKER_ISSUER_FILE": str(tmp_path / "issuer.json")}
    assert "not a worker issuer file" in the_problem(check("scheduler", values, tmp_path)).problem


def test_processes_are_those_with_settings_of_their_own() -> None:
    names = [
        "MUSTER_GATEWAY__ADMIN_TOKEN_FILE",
        "MUSTER_NATS__URL",
        "MUSTER_WORKER__ID",
        "MUSTER_REGISTRY__LANES",
    ]
    assert choose_processes([], names) == ("gateway", "registry", "worker")
    # A provisioner passes settings of workers on, and `muster up` reads the gateway's port.
    assert choose_processes([], ["MUSTER_WORKER__NICENESS", "MUSTER_GATEWAY__PORT"]) == ()
    assert choose_processes(["searcher"], names) == ("searcher",)
    with pytest.raises(Rejected, match="not a process"):
        choose_processes(["gatway"], [])


def test_files_are_read_as_systemd_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "x.env"
    file.write_text("# a comment\n\nMUSTER_LOG__LEVEL = \"debug\"\nPATH=/bin\nmuster_nats__url='nats://a'\n")
    values = read_values([file])
    assert {name: value.text for name, value in values.items()} == {
        "MUSTER_LOG__LEVEL": "debug",
        "MUSTER_NATS__URL": "nats://a",
    }
    file.write_text("export MUSTER_LOG__LEVEL=debug\n")
    with pytest.raises(Rejected, match="line 1"):
        read_values([file])
    with pytest.raises(Rejected, match="No such file"):
        read_values([tmp_path / "missing.env"])


def test_a_joined_machine_has_the_settings_of_its_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "default_directory", lambda: tmp_path)
    assert read_values([]) == {}
    joined = JoinSettings(url="https://muster.example", id="w1", address="10.0.0.7")
    (tmp_path / JOIN_FILE).write_text(joined.model_dump_json())
    found = read_values([])
    assert found["MUSTER_WORKER__ID"] == Value("w1", str(tmp_path / JOIN_FILE))
    assert choose_processes([], found) == ("worker",)
    monkeypatch.setenv("MUSTER_WORKER__ID", "w2")
    assert set(read_values([])) == {"MUSTER_WORKER__ID"}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(config, ["check", *arguments])


def test_the_command_fails_on_errors_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (REGISTRY | {"MUSTER_REGISTRY__LANES": "3"}).items():
        monkeypatch.setenv(name, value)
    ended = run()
    assert ended.exit_code == 0, ended.output
    assert (
        "MUSTER_REGISTRY__LANES = 3 (environment)" in ended.output
        and "the settings are valid" in ended.output
    )
    assert "MUSTER_LOG__LEVEL" not in run("--set").output
    monkeypatch.setenv("MUSTER_REGISTRY__LANES", "three")
    ended = run("--json")
    found = json.loads(ended.output)
    assert ended.exit_code == 1 and found["ok"] is False
    assert [one["name"] for one in found["problems"]] == ["MUSTER_REGISTRY__LANES"]
    assert found["processes"][0]["name"] == "registry"


def test_an_expiring_certificate_is_the_doctors_matter(tmp_path: Path, gateway: dict[str, str]) -> None:
    """Settings are right or wrong whatever the date is."""
    certificate, key = authority("site").issue(HERE, lasts=timedelta(minutes=-1))
    for name, content in (("CERTIFICATE", certificate), ("KEY", key)):
        path = tmp_path / f"{name}.pem"
        path.write_bytes(content)
        path.chmod(stat.S_IRUSR)
        gateway[f"MUSTER_GATEWAY__TLS_{name}_FILE"] = str(path)
    assert check("gateway", gateway, tmp_path).is_ok
