"""Sign-ins of people: how they begin, which there are, and how they end.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.sessions` has the other methods.
"""

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.handwritten.sessions import HandwrittenSessions
from muster.client.http.fields import json_body, query_params
from muster.client.http.transport import Reference, segment


class Sessions(HandwrittenSessions):
    """Sign-ins of people: how they begin, which there are, and how they end."""

    def sign_in(self, user: str, password: str, *, tenant: str = "default") -> models.CreatedSession:
        """Begins a session with a user's name and password, and shows its secret, this one time."""
        return self._transport.post(
            models.CreatedSession, "/v1/sessions", json_body(user=user, password=password, tenant=tenant)
        )

    def sign_in_with_token(self, token: str) -> models.CreatedSession:
        """Begins a session that may what a token may, as long as that counts, and shows its secret, this one time."""
        return self._transport.post(models.CreatedSession, "/v1/sign-in/token", json_body(token=token))

    def create_link(self) -> models.SignInLink:
        """Makes the code of a link that signs a browser in once, within 15 minutes, to do what the caller's token may."""
        return self._transport.post(models.SignInLink, "/v1/sign-in/links")

    def sign_in_with_link(self, code: str) -> models.CreatedSession:
        """Begins the session that a link is for, and shows its secret, this one time; the link is used up."""
        return self._transport.post(models.CreatedSession, "/v1/sign-in/link", json_body(code=code))

    def ways(self) -> models.SignInWays:
        """Tells by which ways people sign in here, as far as the site shows them to everybody."""
        return self._transport.get(models.SignInWays, "/v1/sign-in/ways")

    def begin(self, provider: str, redirect: str) -> models.BegunSignIn:
        """Begins a sign-in with a provider: where the browser goes, and a ticket to finish with.

        Args:
            redirect: Where the browser is sent back to: an address that the site allows, or
                `http://127.0.0.1:PORT/signed-in`.
        """
        return self._transport.get(
            models.BegunSignIn, "/v1/sign-in", query_params(provider=provider, redirect=redirect)
        )

    def finish(self, ticket: str, state: str, code: str, *, iss: str | None = None) -> models.CreatedSession:
        """Begins a session of who the provider says it is, and shows its secret, this one time.

        Args:
            iss: The issuer that the provider names, if it does.
        """
        return self._transport.post(
            models.CreatedSession,
            "/v1/sign-in/finish",
            json_body(ticket=ticket, state=state, code=code, iss=iss),
        )

    def revoke(self, session: Reference = "current") -> models.Session:
        """Ends a session of the caller's; every replica refuses it within seconds."""
        return self._transport.delete(models.Session, f"/v1/sessions/{segment(session)}")

    def change_password(self, old: str, new: str) -> None:
        """Sets the caller's password in place of the one before, and ends the caller's other sessions."""
        self._transport.post(models.Done, "/v1/me/password", json_body(old_password=old, new_password=new))


class AsyncSessions(AsyncAPIResource[Sessions]):
    """`Sessions`, awaited."""

    list = listed(Sessions.list)
    revoke_all = awaited(Sessions.revoke_all)
    sign_in = awaited(Sessions.sign_in)
    sign_in_with_token = awaited(Sessions.sign_in_with_token)
    create_link = awaited(Sessions.create_link)
    sign_in_with_link = awaited(Sessions.sign_in_with_link)
    ways = awaited(Sessions.ways)
    begin = awaited(Sessions.begin)
    finish = awaited(Sessions.finish)
    revoke = awaited(Sessions.revoke)
    change_password = awaited(Sessions.change_password)
