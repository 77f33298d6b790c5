"""The sign-in link that `muster up` prints, so that the first administrator needs no password or token."""

import json
import urllib.error
import urllib.request
from pathlib import Path

from deploy.embedded.supervisor import CLIENT_FILE
from muster.client import Address, connect
from muster.errors import MusterError

_TIMEOUT_S = 5.0


def sign_in_lines(home: Path) -> list[str]:
    """Return the lines to print; none if the gateway has no dashboard or does not answer."""
    known = json.loads((home / CLIENT_FILE).read_text())
    if not _has_dashboard(known["url"]):
        return []
    try:
        with connect(Address(known["url"], known["token"], str(home))) as client:
            made = client.sessions.create_link()
    except MusterError:
        return []
    expires = f"{made.expires_at.astimezone():%H:%M %Z}"
    return [
        f"Sign in to the dashboard with this link. It works once, until {expires}; `muster session link` creates another:",
        f"  {known['url']}{made.path}",
    ]


def _has_dashboard(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            return "text/html" in answer.headers.get("Content-Type", "")
    except (urllib.error.URLError, OSError):
        return False
