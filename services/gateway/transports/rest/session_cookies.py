"""Browser sessions in cookies that scripts cannot read (decision 0197)."""

from typing import Any

from aiohttp import web

from muster.errors import Rejected
from services.gateway.platform.auth.csrf import COOKIE, HEADER, BrowserRequest
from services.gateway.platform.auth.tokens import is_session
from services.gateway.platform.operation import Operation
from services.gateway.platform.schema import Resource
from services.gateway.sessions.schema import CreatedSession, Session

Row = Operation[Any, Any]


def page_of(request: web.Request, is_secure: bool) -> BrowserRequest:
    """Read the headers that identify the page that sent a request."""
    headers = request.headers
    return BrowserRequest(
        verb=request.method,
        host=request.host,
        is_secure=is_secure,
        origin=headers.get("Origin"),
        site=headers.get("Sec-Fetch-Site"),
        wants_cookie=headers.get(HEADER) == COOKIE,
    )


def secret_in_cookie(request: web.Request, page: BrowserRequest) -> str | None:
    """Return the session's secret from the cookie of a request by a page of this gateway; None otherwise."""
    name = page.cookie_name
    secret = request.cookies.get(name) if name is not None and page.is_own else None
    return secret if secret is not None and is_session(secret) else None


def check_cookie_wanted(row: Row, page: BrowserRequest) -> None:
    """Raise Rejected if the request wants a session cookie that cannot be set."""
    if row.response is not CreatedSession or not page.wants_cookie:
        return
    if not page.is_own:
        raise Rejected("forbidden", "pages of other sites cannot sign in users here", "Origin")
    if page.cookie_name is None:
        raise Rejected(
            "insecure",
            "session cookies need https, except on the gateway's own machine",
            HEADER,
            "configure a certificate, or the proxy that has one (docs/sign-in.md)",
        )


def without_cookie_secret(row: Row, page: BrowserRequest, found: Resource) -> Resource:
    """Return the response without the secret, if the cookie contains it."""
    if isinstance(found, CreatedSession) and page.wants_cookie:
        return found.model_copy(update={"secret": ""})
    return found


def set_session_cookie(response: web.StreamResponse, row: Row, page: BrowserRequest, found: Resource) -> None:
    """Set the cookie of a new session, or delete the cookie of an ended one."""
    name = page.cookie_name
    if name is None or not isinstance(found, Session):
        return
    if isinstance(found, CreatedSession) and page.wants_cookie:
        life_s = int((found.expires_at - found.created_at).total_seconds())
        _set(response, page, name, found.secret, life_s)
    elif row.verb == "DELETE" and found.current and page.is_own:
        _set(response, page, name, "", 0)


def _set(response: web.StreamResponse, page: BrowserRequest, name: str, value: str, life_s: int) -> None:
    response.set_cookie(
        name, value, max_age=life_s, path="/", secure=page.is_secure, httponly=True, samesite="Strict"
    )
