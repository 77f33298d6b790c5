"""The session of a browser, in a cookie that no script can read (decision 0197)."""

from typing import Any

from aiohttp import web

from muster.errors import Rejected
from services.gateway.platform.auth.browsers import COOKIE, HEADER, BrowserRequest
from services.gateway.platform.auth.tokens import is_session
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Resource
from services.gateway.sessions.schema import CreatedSession, Session

Row = Operation[Any, Any]


def page_of(request: web.Request, is_secure: bool) -> BrowserRequest:
    """What `request` says of the page that made it."""
    headers = request.headers
    return BrowserRequest(
        verb=request.method,
        host=request.host,
        is_secure=is_secure,
        origin=headers.get("Origin"),
        site=headers.get("Sec-Fetch-Site"),
        asks=headers.get(HEADER) == COOKIE,
    )


def secret_in_cookie(request: web.Request, page: BrowserRequest) -> str | None:
    """The session's secret that a page of the gateway's own has sent; None for anything else."""
    name = page.cookie_name
    secret = request.cookies.get(name) if name is not None and page.is_own else None
    return secret if secret is not None and is_session(secret) else None


def check_cookie_wanted(row: Row, page: BrowserRequest) -> None:
    """Raises Rejected where a session is to be put into a cookie that cannot be given."""
    if row.response is not CreatedSession or not page.asks:
        return
    if not page.is_own:
        raise Rejected("forbidden", "a page of another site may not sign anybody in here", "Origin")
    if page.cookie_name is None:
        raise Rejected(
            "insecure",
            "a session is put into a cookie over https only, or on the gateway's own machine",
            HEADER,
            "give the gateway a certificate, or name the proxy that has one (docs/sign-in.md)",
        )


def without_cookie_secret(row: Row, page: BrowserRequest, found: Resource) -> Resource:
    """The answer without the secret that the cookie holds."""
    if isinstance(found, CreatedSession) and page.asks:
        return found.model_copy(update={"secret": ""})
    return found


def set_session_cookie(response: web.StreamResponse, row: Row, page: BrowserRequest, found: Resource) -> None:
    """Gives the browser the cookie of a session that begins, and takes that of one that has ended."""
    name = page.cookie_name
    if name is None or not isinstance(found, Session):
        return
    if isinstance(found, CreatedSession) and page.asks:
        life_s = int((found.expires_at - found.created_at).total_seconds())
        _set(response, page, name, found.secret, life_s)
    elif row.verb == "DELETE" and found.current and page.is_own:
        _set(response, page, name, "", 0)


def _set(response: web.StreamResponse, page: BrowserRequest, name: str, value: str, life_s: int) -> None:
    response.set_cookie(
        name, value, max_age=life_s, path="/", secure=page.is_secure, httponly=True, samesite="Strict"
    )
