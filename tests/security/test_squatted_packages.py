"""Attack: a stranger registers the platform's package names on a public index, in a higher version. Machines must not install them."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from deploy.packages.building import build_own_wheels
from services.provisioner.drivers.bootstrap import Bootstrap, script
from tests.contract.machine_driver import an_intent
from tests.integration.gateway.conftest import Gateway, Others, start_gateway, stop_gateway
from tests.integration.worker.test_environments import wheel_in

SQUATTED = "99.0"


@pytest.fixture(scope="module")
async def gateway(
    settings: Callable[[str], dict[str, str]],
    others: Others,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Gateway]:
    """A gateway that serves the wheels of this checkout."""
    folder = tmp_path_factory.mktemp("packages")
    build_own_wheels(folder)
    (folder / "requirements.txt").write_text("# nothing\n")
    (folder / "notes.md").write_text("not a package")
    found = await start_gateway(
        settings("gateway"),
        tmp_path_factory.mktemp("gateway"),
        MUSTER_GATEWAY__PACKAGES_DIRECTORY=str(folder),
    )
    yield found
    await stop_gateway(found)


async def test_the_index_lists_packages_with_their_hashes(gateway: Gateway) -> None:
    async with gateway.client("") as anyone:
        projects = (await anyone.get("/packages/simple/")).text
        assert re.findall(r'href="([^"]+)"', projects) == ["muster-platform/", "muster-sdk/"]
        page = await anyone.get("/packages/simple/muster-sdk/")
        ((target, name),) = re.findall(r'href="(?:\.\./)+([^"#]+)#sha256=[0-9a-f]{64}">([^<]+)<', page.text)
        assert (await anyone.get(f"/packages/{target}")).content[:2] == b"PK"
        assert name.startswith("muster_sdk-")
        for missing in (
            "simple/torch/",
            "files/notes.md",
            "files/..%2Fgateway.pepper",
            "files/%2Fetc%2Fpasswd",
        ):
            answer = await anyone.get(f"/packages/{missing}")
            assert answer.status_code == 404, missing


async def test_a_machine_installs_the_platforms_packages_only_from_its_index(
    gateway: Gateway, tmp_path: Path
) -> None:
    with _public_index(tmp_path / "public") as public:
        environment = {**os.environ, "PIP_EXTRA_INDEX_URL": f"{public}/simple/", "PIP_CONSTRAINT": ""}
        naive = ["install", "--no-deps", "--index-url", f"{gateway.url}/packages/simple/", "muster-sdk"]
        assert _installed(naive, tmp_path / "naive", environment) == SQUATTED, "the attack works"
        bootstrap = Bootstrap(gateway.url, packages=("muster-sdk",))
        steps = re.findall(r"-m pip (install .*) \|\| return 1", script(bootstrap, an_intent(), {}, ""))
        assert len(steps) == 2
        for step in steps:
            found = _installed([*shlex.split(step), "--no-deps"], tmp_path / "machine", environment)
        assert found not in (None, SQUATTED)


def _installed(arguments: list[str], target: Path, environment: dict[str, str]) -> str | None:
    """Run pip, and return the version of the SDK that is in `target`."""
    command = [sys.executable, "-m", "pip", *arguments, "--target", str(target)]
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return next((path.name.split("-")[1].removesuffix(".dist") for path in target.glob("muster_sdk-*")), None)


@contextmanager
def _public_index(root: Path) -> Iterator[str]:
    """A package index that anybody may add to, with the SDK's name taken."""
    (root / "simple").mkdir(parents=True)
    folder = wheel_in(root / "simple" / "muster-sdk", {"muster/__init__.py": ""}, "muster_sdk", SQUATTED)
    (wheel,) = (path.name for path in folder.iterdir())
    (folder / "index.html").write_text(f'<!DOCTYPE html><a href="{wheel}">{wheel}</a>')

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(root))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
