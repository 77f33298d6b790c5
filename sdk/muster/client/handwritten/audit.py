"""The audit log of a tenant or the site, and its verification."""

from collections.abc import Iterator
from datetime import datetime

from muster.audit import Anchor
from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import query_params
from muster.client.http.paging import Items, follow, pages


class HandwrittenAudit(APIResource):
    """Methods of `client.audit`."""

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
        """Return the records that match all filters, newest first by default; `entity` has the form `experiment/31`."""
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
        """Yield the chain, or its records in a time range, oldest first, as lines of JSON."""
        path, query = f"{_path(site)}/export", query_params(since=since, until=until)
        return follow(self._transport, models.AuditLine, path, query, str(after) if after else None)

    def head(self, *, site: bool = False) -> models.AuditHead:
        """Return the head of the chain; store it elsewhere for a later `verify`."""
        return self._transport.get(models.AuditHead, f"{_path(site)}/head")

    def verify(self, anchor: Anchor | None = None, *, site: bool = False) -> models.AuditVerification:
        """Have the platform rehash the whole chain; return how far it is intact, and the first break.

        Args:
            anchor: Earlier result of `head`, which the chain must still contain.
            site: Verify the site's chain instead of the tenant's.
        """
        found = self._verify(0, site)
        while not found.complete:
            behind = self._verify(found.sequence, site)
            if behind.follows != found.hash:
                return _broken(found, found.sequence, "the record was changed during verification")
            anchors = None if behind.anchors is None else behind.anchors + (found.anchors or 0)
            found = behind.model_copy(update={"anchors": anchors})
        if anchor is None or found.broken_at is not None or not anchor.sequence:
            return found
        if anchor.sequence > found.sequence:
            return _broken(
                found, found.sequence + 1, "the chain ends before the anchor: records were removed"
            )
        if self._verify(anchor.sequence, site).follows != anchor.hash.hex():
            return _broken(
                found, anchor.sequence, "the record does not match the anchor: the chain was rewritten"
            )
        return found

    def _verify(self, after: int, site: bool) -> models.AuditVerification:
        return self._transport.get(models.AuditVerification, f"{_path(site)}/verification", {"after": after})


def _path(site: bool) -> str:
    return "/v1/site/audit" if site else "/v1/audit"


def _broken(found: models.AuditVerification, sequence: int, how: str) -> models.AuditVerification:
    return found.model_copy(update={"broken_at": sequence, "broken_by": how})
