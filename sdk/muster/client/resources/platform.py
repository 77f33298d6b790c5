"""The platform itself: who calls, whether it works, and the logs of many trials.

Generated from the gateway's table of operations by `make gen`; do not edit.
"""

from collections.abc import Sequence
from datetime import datetime

from muster.client import models
from muster.client.api_resource import APIResource
from muster.client.async_resources import AsyncAPIResource, awaited, listed
from muster.client.http.fields import query_params, texts
from muster.client.http.paging import Items, pages
from muster.client.http.transport import Reference


class Platform(APIResource):
    """The platform itself: who calls, whether it works, and the logs of many trials."""

    def search_logs(
        self,
        *,
        rank: int | None = None,
        contains: str | None = None,
        stream: str | None = None,
        pattern: str | None = None,
        level: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        experiments: Sequence[Reference] = (),
        trials: Sequence[Reference] = (),
    ) -> Items[models.LogLine]:
        """Finds lines in the logs of many trials.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: A regular expression as for RE2, found anywhere in the line.
            level: At least so; lines that name no level are left out. One of debug, info, warning or error.
            since: Read by their worker then or later.
            until: Read by their worker before that.
        """
        return pages(
            self._transport,
            models.LogPage,
            "/v1/logs",
            query_params(
                rank=rank,
                contains=contains,
                stream=stream,
                pattern=pattern,
                level=level,
                since=since,
                until=until,
                experiment=texts(experiments),
                trial=texts(trials),
            ),
        )

    def health(self) -> models.Health:
        """Says that the gateway answers."""
        return self._transport.get(models.Health, "/v1/health")

    def platform_health(self) -> models.PlatformHealth:
        """Shows whether the platform works; operators of the site also see every check of every service."""
        return self._transport.get(models.PlatformHealth, "/v1/health/platform")

    def me(self) -> models.Me:
        """Says who the caller is and what the caller may do."""
        return self._transport.get(models.Me, "/v1/me")


class AsyncPlatform(AsyncAPIResource[Platform]):
    """`Platform`, awaited."""

    search_logs = listed(Platform.search_logs)
    health = awaited(Platform.health)
    platform_health = awaited(Platform.platform_health)
    me = awaited(Platform.me)
