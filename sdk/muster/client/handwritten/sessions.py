"""List and revoke sessions of the caller or of another user."""

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference, segment


class HandwrittenSessions(APIResource):
    """Methods of `client.sessions` that are not generated."""

    def list(
        self, user: Reference | None = None, *, filter: str = "", sort: str = ""
    ) -> Items[models.Session]:
        """Return your own valid sessions, or those of a user, newest first by default; example of `filter`: `via = password`."""
        path = "/v1/sessions" if user is None else f"/v1/users/{segment(user)}/sessions"
        return pages(self._transport, models.SessionPage, path, query_params(filter=filter, sort=sort))

    def revoke_all(self, user: Reference) -> int:
        """Revoke all sessions of a user, and return their number."""
        path = f"/v1/users/{segment(user)}/sessions"
        return self._transport.delete(models.SessionsEnded, path).ended
