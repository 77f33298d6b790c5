"""Signing in: sessions of people, their passwords, and who of a provider they are."""

from muster.client import models
from muster.client.access import Body
from muster.client.awaited import AsyncNoun, awaited, listed
from muster.client.paging import Items, ordered, pages
from muster.client.transport import Reference, Transport, segment


class Sessions:
    """Sign-ins of people: how they begin, which there are, and how they end."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def sign_in(self, user: str, password: str, *, tenant: str = "default") -> models.CreatedSession:
        """Begin a session by password; the answer holds its secret, this one time."""
        body: Body = {"tenant": tenant, "user": user, "password": password}
        return self._transport.post(models.CreatedSession, "/v1/sessions", body)

    def sign_in_with_token(self, token: str) -> models.CreatedSession:
        """Begin a session that stands for a token and ends with it at the latest; the answer holds its secret, this one time."""
        return self._transport.post(models.CreatedSession, "/v1/sign-in/token", {"token": token})

    def create_link(self) -> models.SignInLink:
        """Make a link that signs a browser in once, within 15 minutes, to do what this client's token may: its `path` at the platform's address."""
        return self._transport.post(models.SignInLink, "/v1/sign-in/links", {})

    def sign_in_with_link(self, code: str) -> models.CreatedSession:
        """Begin the session that a link is for, and use it up; the answer holds its secret, this one time."""
        return self._transport.post(models.CreatedSession, "/v1/sign-in/link", {"code": code})

    def ways(self) -> models.SignInWays:
        """Return by which ways people sign in, as far as the site shows them to everybody."""
        return self._transport.get(models.SignInWays, "/v1/sign-in/ways")

    def begin(self, provider: str, redirect: str) -> models.BegunSignIn:
        """Begin a sign-in with a provider: where the browser goes, which is sent back to `redirect`."""
        query = {"provider": provider, "redirect": redirect}
        return self._transport.get(models.BegunSignIn, "/v1/sign-in", query)

    def finish(self, ticket: str, state: str, code: str, *, iss: str | None = None) -> models.CreatedSession:
        """Begin a session with what the browser brought back; the answer holds its secret, this one time."""
        body: Body = {
            "ticket": ticket,
            "state": state,
            "code": code,
            **({"iss": iss} if iss is not None else {}),
        }
        return self._transport.post(models.CreatedSession, "/v1/sign-in/finish", body)

    def list(
        self, user: Reference | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Session]:
        """Return one's own sessions that count, or those of a user, newest first or as they are sorted; `filter` as `via = password`."""
        path = "/v1/sessions" if user is None else f"/v1/users/{segment(user)}/sessions"
        return pages(self._transport, models.SessionPage, path, ordered(filter, sort))

    def revoke(self, session: Reference = "current") -> models.Session:
        """End one of one's own sessions, by default the one that this client signed in with."""
        return self._transport.delete(models.Session, f"/v1/sessions/{segment(session)}")

    def revoke_all(self, user: Reference) -> int:
        """End all sessions of a user, and return how many there were."""
        path = f"/v1/users/{segment(user)}/sessions"
        return self._transport.delete(models.SessionsEnded, path).ended

    def change_password(self, old: str, new: str) -> None:
        """Set one's own password, and end one's other sessions."""
        body: Body = {"old_password": old, "new_password": new}
        self._transport.post(models.Done, "/v1/me/password", body)


class AsyncSessions(AsyncNoun[Sessions]):
    """`Sessions`, awaited."""

    sign_in = awaited(Sessions.sign_in)
    sign_in_with_token = awaited(Sessions.sign_in_with_token)
    create_link = awaited(Sessions.create_link)
    sign_in_with_link = awaited(Sessions.sign_in_with_link)
    ways = awaited(Sessions.ways)
    begin = awaited(Sessions.begin)
    finish = awaited(Sessions.finish)
    list = listed(Sessions.list)
    revoke = awaited(Sessions.revoke)
    revoke_all = awaited(Sessions.revoke_all)
    change_password = awaited(Sessions.change_password)
