"""Browser part of a sign-in: the provider redirects to a port of this machine (RFC 8252), which answers once."""

import hmac
import html
import http.server
import time
import webbrowser
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from muster.cli.base.output import note
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.client import Client
    from muster.client.models import CreatedSession

SIGN_IN_TIMEOUT_S = 600.0
PATH = "/signed-in"


def sign_in_with(client: "Client", provider: str, port: int, *, opens: bool) -> "CreatedSession":
    """Sign the user in at a provider through the browser, and return the session.

    Args:
        port: Port of this machine for the redirect; 0 takes a free one.
        opens: Open the browser; otherwise only print the address.

    Raises:
        Rejected: The provider refused, the sign-in was not completed in time, or the port is in use.
    """
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise Rejected("port_in_use", f"port {port} is not available: {error.strerror}", "--port") from error
    with server:
        started = client.sessions.begin(provider, f"http://127.0.0.1:{server.server_port}{PATH}")
        server.state = started.state
        if not opens or not webbrowser.open(started.url):
            note("open this address in a browser on this machine:\n{}", started.url)
        else:
            note("sign in in your browser (or open {})", started.url)
        came = server.wait(SIGN_IN_TIMEOUT_S)
    if "code" not in came:
        why = came.get("error_description") or came.get("error") or "the sign-in was not completed in time"
        raise Rejected("not_signed_in", f"{provider}: {why}", hint="start again with `muster login`")
    return client.sessions.finish(started.ticket, came["state"], came["code"], iss=came.get("iss"))


class _Server(http.server.HTTPServer):
    """Receives the provider's redirect, once."""

    state = ""
    came: Mapping[str, str] | None = None

    def wait(self, seconds: float) -> Mapping[str, str]:
        """Return the parameters of the redirect with our state; empty after `seconds`."""
        until = time.monotonic() + seconds
        while self.came is None and (left := until - time.monotonic()) > 0:
            self.timeout = min(left, 1.0)
            self.handle_request()
        return self.came or {}


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one page; requests without our state get 404 and are not waited for."""

    server: _Server
    timeout = 5

    def do_GET(self) -> None:
        """Handle the provider's redirect."""
        parts = urlsplit(self.path)
        came = {name: values[0] for name, values in parse_qs(parts.query).items()}
        is_ours = parts.path == PATH and hmac.compare_digest(
            came.get("state", "").encode(), self.server.state.encode()
        )
        if is_ours:
            self.server.came = came
        self._say(is_ours, "code" in came)

    def _say(self, is_ours: bool, is_good: bool) -> None:
        message = "You are signed in. You can close this page." if is_good else "You are not signed in."
        page = html.escape(message if is_ours else "No sign-in is in progress.")
        body = f"<!doctype html><meta charset=utf-8><title>Muster</title><p>{page}</p>".encode()
        self.send_response(200 if is_ours else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the address contains the code."""
