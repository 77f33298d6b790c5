"""Run the dashboard story in `web/tests/story` in a real browser against the whole platform."""

import os
import shutil
import subprocess

import pytest

from deploy.embedded.state import load_state
from tests.e2e.platform import ROOT, Platform
from tests.support.missing_dependency import missing, need

WEB = ROOT / "web"
STORY_S = 480.0

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(STORY_S + 120)]


@pytest.fixture(scope="module")
def chromium() -> str:
    """The browser, and a dashboard for it."""
    need(("chromium", "npm"), "apt-get install chromium nodejs npm")
    if not (WEB / "dist" / "routes.json").exists() or not (WEB / "node_modules").exists():
        missing("the dashboard's build", "run `make web`, which takes Node 20.19 or newer")
    return str(shutil.which("chromium"))


def test_the_story_of_a_day_at_the_dashboard(chromium: str, platform: Platform) -> None:
    address = platform.client.address
    environment = os.environ | {
        "MUSTER_URL": address.url,
        "MUSTER_TOKEN": address.token or "",
        "MUSTER_CHROMIUM": chromium,
        "MUSTER_GATEWAY_PID": str(gateway_of(platform)),
    }
    told = subprocess.run(
        ["npm", "run", "--silent", "story"],
        cwd=WEB, env=environment, capture_output=True, text=True, timeout=STORY_S, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    assert "skipped" not in told.stdout, "this platform has all that the story tells of, a provider too"


def gateway_of(platform: Platform) -> int:
    """The process that the story restarts."""
    state = load_state(platform.home)
    [gateway] = [part.process for part in state.parts if part.name == "gateway"] if state else []
    assert gateway is not None
    return gateway.pid
