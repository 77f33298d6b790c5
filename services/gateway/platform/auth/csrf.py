"""Protection against cross-site request forgery: the session cookie is accepted only in requests of the gateway's own pages.

Browsers add the cookie to requests of any page. A request must therefore contain something that pages of other sites cannot send: the header
`Muster-Session`, which other origins may not set without CORS, or `Origin` and `Sec-Fetch-Site` with the gateway's own origin.
"""

from dataclasses import dataclass

HEADER = "Muster-Session"
COOKIE = "cookie"
"""The only value of the header: the session is in the cookie."""
_SAFE = ("GET", "HEAD")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """The headers of a request that identify the web page that sent it.

    Attributes:
        origin: `Origin`. Browsers send it with requests that may change something, and with WebSockets.
        site: `Sec-Fetch-Site`. Browsers send it over https and on loopback; scripts cannot set it.
        wants_cookie: `Muster-Session: cookie` was sent.
    """

    verb: str
    host: str
    is_secure: bool
    origin: str | None = None
    site: str | None = None
    wants_cookie: bool = False

    @property
    def own_origin(self) -> str:
        """The origin of the gateway's own pages, as the browser sees it."""
        return f"{'https' if self.is_secure else 'http'}://{self.host}".lower()

    @property
    def is_own(self) -> bool:
        """True if a page of this gateway sent the request."""
        if self.origin is not None and self.origin.lower() != self.own_origin:
            return False
        if self.site is not None and self.site != "same-origin":
            return False
        if self.wants_cookie:
            return True
        # Pages cannot set headers on event sources, WebSockets, images and links.
        return self.verb in _SAFE and (self.origin is not None or self.site is not None)

    @property
    def cookie_name(self) -> str | None:
        """The name of the session cookie. None if the connection is not encrypted, as others could read the cookie.

        Over https, the prefix `__Host-` makes browsers reject cookies of other hosts, other paths and unencrypted answers. On loopback, the name
        contains the port, because cookies do not: otherwise two gateways on one machine would overwrite each other's cookies.
        """
        if self.is_secure:
            return "__Host-muster"
        name, _, port = (
            self.host.lower().rpartition(":") if not self.host.endswith("]") else (self.host, "", "")
        )
        if not name:
            name, port = port, "80"
        return f"muster-{port or '80'}" if name in _LOOPBACK else None
