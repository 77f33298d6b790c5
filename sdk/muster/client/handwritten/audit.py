"""The audit log of a tenant or the site: who did what, and the proof that nothing of it was changed."""

from collections.abc import Iterator
from datetime import datetime

from muster.audit import Anchor
from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, follow, pages


class HandwrittenAudit(APIResource):
    """The methods of `client.audit`."""

    def list(
        self,
        *,
        actor: str | None = None,
        operation: str | None = None,
        entity: str | None = None,
        outcome: models.AuditOutcome | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        site: bool = False,
        filter: str = "",
        sort: str = "",
    ) -> Items[models.AuditRecord]:
        """Return the records for which all of this holds, newest first or as they are sorted; `entity` as `experiment/31`."""
        query = query_params(
            actor=actor,
            operation=operation,
            entity=entity,
            outcome=outcome,
            since=since,
            until=until,
            filter=filter,
            sort=sort,
        )
        return pages(self._transport, models.AuditPage, _path(site), query)

    def export(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        after: int = 0,
        site: bool = False,
    ) -> Iterator[models.AuditLine]:
        """Yield the chain, or the part of a span of time, oldest first, one line of JSON each."""
        path, query = f"{_path(site)}/export", query_params(since=since, until=until)
        return follow(self._transport, models.AuditLine, path, query, str(after) if after else None)

    def head(self, *, site: bool = False) -> models.AuditHead:
        """Return how far the chain reaches; kept elsewhere, it is what a later `verify` is held to."""
        return self._transport.get(models.AuditHead, f"{_path(site)}/head")

    def verify(self, anchor: Anchor | None = None, *, site: bool = False) -> models.AuditVerification:
        """Have the platform hash the whole chain anew; return how far it is whole, and what breaks it first.

        Args:
            anchor: what `head` said once: the chain must still hold it.
        """
        found = self._verify(0, site)
        while not found.complete:
            behind = self._verify(found.sequence, site)
            if behind.follows != found.hash:
                return _broken(found, found.sequence, "the record was changed while it was verified")
            found = behind
        if anchor is None or found.broken_at is not None or not anchor.sequence:
            return found
        if anchor.sequence > found.sequence:
            return _broken(
                found, found.sequence + 1, "the chain ends before the anchor: records were cut off"
            )
        if self._verify(anchor.sequence, site).follows != anchor.hash.hex():
            return _broken(
                found, anchor.sequence, "the record is not the anchor's: the chain was written anew"
            )
        return found

    def _verify(self, after: int, site: bool) -> models.AuditVerification:
        return self._transport.get(models.AuditVerification, f"{_path(site)}/verification", {"after": after})


def _path(site: bool) -> str:
    return "/v1/site/audit" if site else "/v1/audit"


def _broken(found: models.AuditVerification, sequence: int, how: str) -> models.AuditVerification:
    return found.model_copy(update={"broken_at": sequence, "broken_by": how})
