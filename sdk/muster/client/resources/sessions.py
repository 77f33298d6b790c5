"""Sign-in sessions of users: create, list and revoke them.

Generated from the gateway's table of operations by `make gen`; do not edit. `muster.client.handwritten.sessions` has the other methods.
"""

from muster.client import models
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.handwritten.sessions import HandwrittenSessions
from muster.client.http.fields import json_body, query_params
from muster.client.http.transport import Reference, segment


class Sessions(HandwrittenSessions):
    """Sign-in sessions of users: create, list and revoke them."""

    def sign_in(self, user: str, password: str, *, tenant: str = "default") -> models.CreatedSession:
        """Sign in with a user's name and password and return the session's secret, only in this response."""
        return self._transport.post(
            models.CreatedSession, "/v1/sessions", json_body(user=user, password=password, tenant=tenant)
        )

    def sign_in_with_token(self, token: str) -> models.CreatedSession:
        """Sign in with an access token and return the session's secret, only in this response. The session has the token's permissions and expires with it."""
        return self._transport.post(models.CreatedSession, "/v1/sign-in/token", json_body(token=token))

    def create_link(self) -> models.SignInLink:
        """Create a single-use sign-in link that expires after 15 minutes. The session gets the permissions of the caller's token."""
        return self._transport.post(models.SignInLink, "/v1/sign-in/links")

    def sign_in_with_link(self, code: str) -> models.CreatedSession:
        """Sign in with a link and return the session's secret, only in this response. The link cannot be used again."""
        return self._transport.post(models.CreatedSession, "/v1/sign-in/link", json_body(code=code))

    def ways(self) -> models.SignInWays:
        """List the public ways to sign in to this site."""
        return self._transport.get(models.SignInWays, "/v1/sign-in/ways")

    def begin(self, provider: str, redirect: str) -> models.StartedSignIn:
        """Start a sign-in with a provider. Returns the provider's page for the browser, and the ticket that finishes the sign-in.

        Args:
            redirect: Address that the provider redirects the browser to: one that the site allows, or
                `http://127.0.0.1:PORT/signed-in`.
        """
        return self._transport.get(
            models.StartedSignIn, "/v1/sign-in", query_params(provider=provider, redirect=redirect)
        )

    def finish(self, ticket: str, state: str, code: str, *, iss: str | None = None) -> models.CreatedSession:
        """Finish a sign-in with a provider and return the session's secret, only in this response.

        Args:
            iss: The `iss` parameter of the redirect, if it has one.
        """
        return self._transport.post(
            models.CreatedSession,
            "/v1/sign-in/finish",
            json_body(ticket=ticket, state=state, code=code, iss=iss),
        )

    def revoke(self, session: Reference = "current") -> models.Session:
        """End one of the caller's sessions. Every replica rejects it within seconds."""
        return self._transport.delete(models.Session, f"/v1/sessions/{segment(session)}")

    def change_password(self, old: str, new: str) -> None:
        """Change the caller's password and end the caller's other sessions."""
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
