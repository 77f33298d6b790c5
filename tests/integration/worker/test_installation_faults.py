"""Whose fault it is that requirements cannot be installed: the user's if they cannot be, the platform's if the index or the machine fails."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from muster.errors import Rejected
from shared.ids import DEFAULT_TENANT
from tests.integration.worker.test_environments import wheel_in
from worker.core.faults import CausedByTrial
from worker.environments.environments import EnvironmentRequest, Environments, installing_environment

BROKEN_BUILD = """
def get_requires_for_build_wheel(config_settings=None):
    return []
def build_wheel(folder, config_settings=None, metadata_directory=None):
    raise RuntimeError("this package cannot be built")
"""
FULL_BUILD = BROKEN_BUILD.replace("RuntimeError(", "OSError(28, ")


@contextmanager
def index(status: int, pages: dict[str, str] | None = None) -> Iterator[str]:
    """A package index that answers everything but its pages with a status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = (pages or {}).get(self.path)
            self.send_response(status if page is None else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write((page or "no").encode())

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


async def refusal(
    tmp_path: Path, requirements: str, said: list[str] | None = None, **variables: str
) -> Rejected:
    """Why an environment for these requirements could not be created."""
    code, root = tmp_path / "code", tmp_path / "environments"
    for folder in (code, root):
        folder.mkdir(exist_ok=True)
    (code / "requirements.txt").write_text(requirements)
    given = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", **variables}
    made = Environments(root, None, None, installing_environment(given), "muster._trial")
    request = EnvironmentRequest(code, "requirements.txt", DEFAULT_TENANT, "hash")
    with pytest.raises(Rejected) as refused:
        await made.make(request, (said if said is not None else []).append)
    assert list(root.iterdir()) == [], "nothing is left of it"
    print(refused.value)
    return refused.value


def package(tmp_path: Path, backend: str) -> str:
    """Requirements with one package that is built like this."""
    folder = tmp_path / "code" / "mine"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(backend)
    return "--no-index\n./mine\n"


async def test_a_package_that_does_not_exist_is_the_users(tmp_path: Path) -> None:
    said: list[str] = []
    with index(404) as url:
        refused = await refusal(tmp_path, "no-such-package==7\n", said, PIP_INDEX_URL=url)
    assert isinstance(refused, CausedByTrial)
    assert "No matching distribution found for no-such-package==7" in str(refused)
    assert "correct requirements.txt and submit the experiment again" in str(refused)
    assert any("ERROR: No matching distribution found for no-such-package==7" in line for line in said), said


async def test_a_version_that_does_not_exist_is_the_users(tmp_path: Path) -> None:
    page = '<a href="here-1.0-py3-none-any.whl">here-1.0-py3-none-any.whl</a>'
    with index(404, {"/simple/here/": page}) as url:
        assert isinstance(await refusal(tmp_path, "here==7\n", PIP_INDEX_URL=url), CausedByTrial)


@pytest.mark.parametrize("requirements", ["numpy ===== 1\n", "-r absent.txt\n", "./absent\n", "--nonsense\n"])
async def test_an_invalid_file_is_the_users(tmp_path: Path, requirements: str) -> None:
    assert isinstance(await refusal(tmp_path, requirements), CausedByTrial)


async def test_a_conflict_is_the_users(tmp_path: Path) -> None:
    wheels = wheel_in(tmp_path / "wheels", {"one.py": ""}, "one", "1.0", "two==1.0")
    wheel_in(wheels, {"two.py": ""}, "two", "2.0")
    found = await refusal(tmp_path, f"--no-index\n--find-links {wheels}\none\ntwo==2.0\n")
    assert isinstance(found, CausedByTrial)


async def test_a_build_that_fails_is_the_users(tmp_path: Path) -> None:
    said: list[str] = []
    assert isinstance(await refusal(tmp_path, package(tmp_path, BROKEN_BUILD), said), CausedByTrial)
    assert any("this package cannot be built" in line for line in said)


async def test_what_breaks_the_start_of_trials_is_the_users(tmp_path: Path) -> None:
    wheels = wheel_in(tmp_path / "wheels", {"muster/__init__.py": "raise ImportError('not the real one')\n"})
    found = await refusal(tmp_path, f"--no-index\n--find-links {wheels}\nwheelhouse\n")
    assert isinstance(found, CausedByTrial)


@pytest.mark.parametrize("retries", ["0", "1"])
async def test_an_index_that_is_down_is_the_platforms(tmp_path: Path, retries: str) -> None:
    """Although pip then says that there is no such package."""
    url = f"http://127.0.0.1:{closed_port()}/simple"
    found = await refusal(tmp_path, "numpy-of-mine\n", PIP_INDEX_URL=url, PIP_RETRIES=retries)
    assert not isinstance(found, CausedByTrial)
    assert "No matching distribution found" in str(found)
    assert "the platform tries again" in str(found)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
async def test_an_index_that_refuses_or_fails_is_the_platforms(tmp_path: Path, status: int) -> None:
    with index(status) as url:
        assert not isinstance(await refusal(tmp_path, "mine\n", PIP_INDEX_URL=url), CausedByTrial)


@pytest.mark.parametrize("url", ["https://index.invalid/simple", "http://index.invalid/simple"])
async def test_an_index_without_an_address_or_a_certificate_is_the_platforms(
    tmp_path: Path, url: str
) -> None:
    found = await refusal(tmp_path, "mine\n", PIP_INDEX_URL=url)
    assert not isinstance(found, CausedByTrial)


async def test_a_second_index_that_is_down_is_the_platforms(tmp_path: Path) -> None:
    """The package may be there."""
    down = f"http://127.0.0.1:{closed_port()}/simple"
    with index(404) as url:
        found = await refusal(tmp_path, "mine\n", PIP_INDEX_URL=url, PIP_EXTRA_INDEX_URL=down)
    assert not isinstance(found, CausedByTrial)


async def test_a_file_that_vanishes_from_the_index_is_the_platforms(tmp_path: Path) -> None:
    page = '<a href="/files/here-1.0-py3-none-any.whl">here-1.0-py3-none-any.whl</a>'
    with index(503, {"/simple/here/": page}) as url:
        found = await refusal(tmp_path, "here\n", PIP_INDEX_URL=url)
    assert not isinstance(found, CausedByTrial)


async def test_a_full_disk_is_the_platforms(tmp_path: Path) -> None:
    found = await refusal(tmp_path, package(tmp_path, FULL_BUILD))
    assert not isinstance(found, CausedByTrial)


async def test_pip_that_is_killed_is_the_platforms(tmp_path: Path) -> None:
    kills = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    found = await refusal(tmp_path, package(tmp_path, kills))
    assert not isinstance(found, CausedByTrial)
