"""Servers that speak HTTP: whether the gateway answers, and the time of any of them."""

import urllib.error
import urllib.request
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from deploy.checks.findings import Finding, error, ok

WHY_GATEWAY = "Workers join the platform, and fetch and store files, through the gateway's address."
_TIMEOUT_S = 5.0
_HALF_SECOND = timedelta(seconds=0.5)


def check_gateway(url: str, setting: str) -> Finding:
    """Ask the gateway for its health."""
    address = f"{url.rstrip('/')}/v1/health"
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT_S) as answer:
            body = answer.read(65_536)
    except urllib.error.HTTPError as failure:
        remedy = f"correct {setting}; if the name is not known to the gateway, add it to MUSTER_GATEWAY__ALLOWED_HOSTS"
        return error(f"{address} answers with status {failure.code}", remedy)
    except (OSError, ValueError) as failure:
        return error(
            f"{address} cannot be reached: {failure}",
            f"start the gateway, or correct {setting} and the firewall between both machines",
        )
    if b'"status"' not in body:
        return error(f"{address} does not answer like a gateway of Muster", f"correct {setting}")
    return ok(f"{url} answers")


def read_clock(url: str) -> datetime:
    """Return the time in a server's answer, whatever its status; whole seconds, so their middle.

    Raises:
        OSError: The server does not answer, or not with a time.
    """
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            date = answer.headers["Date"]
    except urllib.error.HTTPError as refusal:
        date = refusal.headers["Date"]
    if not date:
        raise OSError("the answer has no time")
    return parsedate_to_datetime(date) + _HALF_SECOND
