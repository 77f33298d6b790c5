"""The half of `muster login --with` that goes through a browser, over real sockets; the platform answers as the test says."""

import threading
import urllib.error
import urllib.request
from pathlib import Path

import httpx
import pytest

from muster.client.settings import discover
from tests.unit.sdk.shell import Shell
from tests.unit.sdk.test_cli_sign_in import CREATED, ME, WHEN


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("MUSTER_URL", "MUSTER_TOKEN", "MUSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


def redirect_of(shell: Shell) -> str:
    """Where the browser was to be sent back to."""
    return next(one.url.params["redirect"] for one in shell.requests if one.url.path == "/v1/sign-in")


def test_the_browser_comes_back_to_this_machine_once(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that guesses the port, and comes with another state, is neither believed nor waited for."""
    opened: list[str] = []
    pages: list[int] = []
    visitor: list[threading.Thread] = []

    def open_browser(url: str) -> bool:
        opened.append(url)
        redirect = redirect_of(shell)

        def come_back() -> None:
            for query in (
                "state=evil&code=evil",
                "code=evil",
                "state=s3&code=c7&iss=https%3A%2F%2Fid.example",
            ):
                try:
                    with urllib.request.urlopen(f"{redirect}?{query}") as page:
                        pages.append(page.status)
                except urllib.error.HTTPError as error:
                    pages.append(error.code)

        visitor.append(threading.Thread(target=come_back))
        visitor[0].start()
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    begun = {
        "url": "https://id.example/authorize?state=s3",
        "ticket": "t1",
        "state": "s3",
        "expires_at": WHEN,
    }
    shell.answers["GET /v1/sign-in"] = httpx.Response(200, json=begun)
    shell.answers["POST /v1/sign-in/finish"] = httpx.Response(201, json=CREATED | {"via": "acme"})
    shell.answers["GET /v1/me"] = httpx.Response(200, json=ME)
    shown = shell("login", "http://platform", "--with", "acme")
    assert shown.code == 0 and opened == ["https://id.example/authorize?state=s3"], shown.err
    visitor[0].join()
    sent = {"ticket": "t1", "state": "s3", "code": "c7", "iss": "https://id.example"}
    assert shell.sent("POST", "/v1/sign-in/finish") == sent
    assert pages == [404, 404, 200] and discover().token == "mss_x"


def test_a_provider_that_refuses_is_quoted(shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def open_browser(url: str) -> bool:
        redirect = redirect_of(shell)
        threading.Thread(
            target=lambda: urllib.request.urlopen(f"{redirect}?state=s3&error=access_denied").close()
        ).start()
        return True

    monkeypatch.setattr("webbrowser.open", open_browser)
    begun = {"url": "https://id.example/a", "ticket": "t1", "state": "s3", "expires_at": WHEN}
    shell.answers["GET /v1/sign-in"] = httpx.Response(200, json=begun)
    shown = shell("login", "http://platform", "--with", "acme")
    assert shown.code == 3 and "access_denied" in shown.err
    assert all(request.url.path != "/v1/sign-in/finish" for request in shell.requests)
