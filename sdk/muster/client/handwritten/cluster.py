"""Usage by any keys, as a model or as CSV."""

from collections.abc import Sequence
from datetime import datetime

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.http.fields import query_params
from muster.client.http.transport import Query


class HandwrittenCluster(APIResource):
    """Methods of `client.cluster` that are not generated."""

    def usage(
        self,
        by: Sequence[str] = ("workspace",),
        since: datetime | None = None,
        until: datetime | None = None,
        days: int | None = None,
    ) -> models.Usage:
        """Return slot-seconds and cost in a period (by default the last 30 days), by day, tenant, workspace, user, label, experiment or pool.

        `days` replaces `since`: the number of UTC days, including the last one.
        """
        return self._transport.get(models.Usage, "/v1/usage", _usage_query(by, since, until, days))

    def usage_csv(
        self,
        by: Sequence[str] = ("workspace",),
        since: datetime | None = None,
        until: datetime | None = None,
        days: int | None = None,
    ) -> str:
        """Return the usage as CSV with a header line; see `usage`."""
        return self._transport.get_csv("/v1/usage", _usage_query(by, since, until, days))


def _usage_query(
    by: Sequence[str], since: datetime | None, until: datetime | None, days: int | None
) -> Query:
    keys = [key for key in by if key != "label"]
    return query_params(by=keys, by_label="label" in by or None, since=since, until=until, days=days)
