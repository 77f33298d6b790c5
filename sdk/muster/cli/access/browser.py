"""The half of a sign-in that goes through the browser: it is sent back to a port of this machine (RFC 8252), which answers once."""

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
    """Have the person sign in at a provider, and return the session.

    Args:
        port: Where the browser is sent back to on this machine; 0 takes a free one.
        opens: Open the browser; otherwise only its address is printed.

    Raises:
        Rejected: The provider refused, nobody came back in time, or the port is in use.
    """
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except OSError as error:
        raise Rejected("port_in_use", f"port {port} cannot be had: {error.strerror}", "--port") from error
    with server:
        begun = client.sessions.begin(provider, f"http://127.0.0.1:{server.server_port}{PATH}")
        server.state = begun.state
        if not opens or not webbrowser.open(begun.url):
            note("open this address in a browser of this machine:\n{}", begun.url)
        else:
            note("your browser is open: sign in there (or here: {})", begun.url)
        came = server.wait(SIGN_IN_TIMEOUT_S)
    if "code" not in came:
        why = came.get("error_description") or came.get("error") or "nobody came back in time"
        raise Rejected("not_signed_in", f"{provider}: {why}", hint="begin again with `muster login`")
    return client.sessions.finish(begun.ticket, came["state"], came["code"], iss=came.get("iss"))


class _Server(http.server.HTTPServer):
    """Takes what the browser brings, once."""

    state = ""
    came: Mapping[str, str] | None = None

    def wait(self, seconds: float) -> Mapping[str, str]:
        """Return what came with our state; nothing after `seconds`."""
        until = time.monotonic() + seconds
        while self.came is None and (left := until - time.monotonic()) > 0:
            self.timeout = min(left, 1.0)
            self.handle_request()
        return self.came or {}


class _Handler(http.server.BaseHTTPRequestHandler):
    """One page: whoever comes without our state is sent away, and waited on no further."""

    server: _Server
    timeout = 5

    def do_GET(self) -> None:
        """Take the provider's answer."""
        parts = urlsplit(self.path)
        came = {name: values[0] for name, values in parse_qs(parts.query).items()}
        is_ours = parts.path == PATH and hmac.compare_digest(
            came.get("state", "").encode(), self.server.state.encode()
        )
        if is_ours:
            self.server.came = came
        self._say(is_ours, "code" in came)

    def _say(self, is_ours: bool, is_good: bool) -> None:
        said = "You are signed in. This page can be closed." if is_good else "You are not signed in."
        page = html.escape(said if is_ours else "Nothing is waited for here.")
        body = f"<!doctype html><meta charset=utf-8><title>Muster</title><p>{page}</p>".encode()
        self.send_response(200 if is_ours else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the address holds the code."""
