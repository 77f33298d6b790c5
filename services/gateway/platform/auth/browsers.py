"""When a browser's cookie counts: only for requests that a page of the gateway's own has made.

A browser adds the cookie to whatever asks the gateway, whoever wrote the page. So a request must show what no foreign page can make it show:
a header of ours (which another origin may not set without our leave, and we give none), or the browser's own word on where it comes from.
"""

from dataclasses import dataclass

HEADER = "Muster-Session"
COOKIE = "cookie"
"""The header's one value: `my session is in the cookie`."""
_SAFE = ("GET", "HEAD")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """What a request says of the page that made it.

    Attributes:
        origin: `Origin`; browsers send it with whatever may change something, and with each WebSocket.
        site: `Sec-Fetch-Site`; browsers send it over https and on loopback, and no script can set it.
        asks: `Muster-Session: cookie` was sent.
    """

    verb: str
    host: str
    is_secure: bool
    origin: str | None = None
    site: str | None = None
    asks: bool = False

    @property
    def own_origin(self) -> str:
        """The origin of the gateway's own pages, as the browser that calls knows it."""
        return f"{'https' if self.is_secure else 'http'}://{self.host}".lower()

    @property
    def is_own(self) -> bool:
        """True where the request was made by a page of the gateway's."""
        if self.origin is not None and self.origin.lower() != self.own_origin:
            return False
        if self.site is not None and self.site != "same-origin":
            return False
        if self.asks:
            return True
        # What a page cannot give a header: event sources, WebSockets, pictures, links.
        return self.verb in _SAFE and (self.origin is not None or self.site is not None)

    @property
    def cookie_name(self) -> str | None:
        """What the cookie is called; None where none may be given, because whoever listens could take it.

        Over https the prefix has browsers refuse what another host, another path or an unencrypted answer has set. On loopback, where there is
        no encryption, cookies do not know of ports: the name does, so that two gateways on one machine do not overwrite each other's.
        """
        if self.is_secure:
            return "__Host-muster"
        name, _, port = (
            self.host.lower().rpartition(":") if not self.host.endswith("]") else (self.host, "", "")
        )
        if not name:
            name, port = port, "80"
        return f"muster-{port or '80'}" if name in _LOOPBACK else None
