"""The script of a new machine, run by a real shell with programs of ours for those that would change this machine."""

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from services.provisioner.drivers import bootstrap
from services.provisioner.drivers.aws import request
from services.provisioner.drivers.bootstrap import Bootstrap, script
from tests.contract.machine_driver import an_intent, tokens

PYTHON = """#!/bin/bash
echo "$*|$MUSTER_WORKER__ID|$MUSTER_WORKER__JOIN_TOKEN|$MUSTER_WORKER__ADDRESS|$MUSTER_WORKER__POOL|$MUSTER_WORKER__CONTACT_TIMEOUT_S" >> $0.log
[ -e $0.fail ] && exit 1
exit 0
"""
CURL = """#!/bin/bash
case "$*" in
  *-X\\ PUT*/api/token) echo session ;;
  *"token: session"*ami-launch-index) cat $0.index ;;
  *"token: session"*local-ipv4) echo 10.0.0.7 ;;
  *) exit 22 ;;
esac
"""


@dataclass
class Host:
    """A folder of programs, and what they noted."""

    path: Path

    def put(self, name: str, text: str) -> Path:
        program = self.path / name
        program.write_text(text)
        program.chmod(0o755)
        return program

    def noted(self, name: str) -> list[str]:
        file = self.path / f"{name}.log"
        return file.read_text().splitlines() if file.exists() else []

    def boot(self, text: str) -> str:
        environment = {"PATH": f"{self.path}:/usr/bin:/bin"}
        done = subprocess.run(
            ["bash", "-s", "stay"], input=text, env=environment, capture_output=True, text=True, timeout=20
        )
        return done.stdout


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(bootstrap, "PAUSE_S", 0.1)
    found = Host(tmp_path / "bin")
    found.path.mkdir()
    for name in ("shutdown", "iptables", "useradd"):
        found.put(name, '#!/bin/bash\necho "$*" >> $0.log\n')
    found.put("id", "#!/bin/bash\nexit 1\n")
    found.put("curl", CURL)
    found.put("python3", PYTHON)
    return found


def settings(host: Host) -> Bootstrap:
    return Bootstrap(
        "https://muster.example", directory=str(host.path.parent / "it's here"), contact_timeout_s=900.0
    )


def test_a_machine_becomes_the_worker_of_its_index_and_ends_with_it(host: Host) -> None:
    intent = an_intent(machines=3)
    given = {one.worker: f"token-{index}" for index, one in enumerate(intent.instances)}
    (host.path / "curl.index").write_text("1")
    log = host.boot(script(settings(host), intent, given, request.FIND_INDEX))
    worker = intent.instances[1].worker
    assert host.noted("python3") == [f"-P -m worker|{worker}|token-1|10.0.0.7|default|900"]
    assert host.noted("shutdown") == ["-h now"]
    assert "the worker ended" in log
    assert "muster-trial" in host.noted("useradd")[0]
    (rule,) = host.noted("iptables")
    assert "169.254.169.254 -p tcp ! --dport 53" in rule, (
        "user code does not read this script, and looks up names"
    )


def test_a_machine_whose_worker_does_not_stay_up_ends_itself(host: Host) -> None:
    intent = an_intent()
    (host.path / "curl.index").write_text("0")
    (host.path / "python3.fail").touch()
    eager = replace(settings(host), gives_up_after_s=1)
    log = host.boot(script(eager, intent, tokens(intent), request.FIND_INDEX))
    assert len(host.noted("python3")) > 2, "it was tried again"
    assert host.noted("shutdown") == ["-h now"]
    assert "does not stay up" in log


@pytest.mark.parametrize("index", ["", "7"])
def test_a_machine_that_does_not_learn_who_it_is_ends_itself(host: Host, index: str) -> None:
    if index:
        (host.path / "curl.index").write_text(index)
    intent = an_intent()
    eager = replace(settings(host), gives_up_after_s=1)
    host.boot(script(eager, intent, tokens(intent), request.FIND_INDEX))
    assert not host.noted("python3")
    assert host.noted("shutdown") == ["-h now"]


def test_an_image_without_the_platform_gets_it_by_pip(host: Host) -> None:
    host.put(
        "python3", '#!/bin/bash\nmkdir -p "$3/bin"\ncp $0.venv "$3/bin/python"\nchmod 755 "$3/bin/python"\n'
    )
    (host.path / "python3.venv").write_text(f'#!/bin/bash\necho "$*" >> {host.path}/venv.log\n')
    (host.path / "curl.index").write_text("0")
    intent = an_intent()
    bare = replace(settings(host), packages=("muster-platform==0.2.0",))
    host.boot(script(bare, intent, tokens(intent), request.FIND_INDEX))
    assert host.noted("venv") == [
        "-m pip install --quiet --no-deps --require-hashes -r https://muster.example/packages/requirements.txt",
        "-m pip install --quiet --isolated --index-url https://muster.example/packages/simple/ muster-platform==0.2.0",
        "-P -m worker",
    ]


def test_a_site_may_name_its_own_index(host: Host) -> None:
    bare = replace(settings(host), packages=("muster-platform==0.2.0",), index_url="https://pypi.site/simple")
    written = script(bare, an_intent(), {}, request.FIND_INDEX)
    assert (
        "pip install --quiet --isolated --index-url https://pypi.site/simple muster-platform==0.2.0"
        in written
    )
    assert "muster.example/packages" not in written
