"""The platform itself: the caller, the platform's health, and search in logs.

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
    """The platform itself: the caller, the platform's health, and search in logs."""

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
        """Search the logs of many trials.

        Args:
            stream: One of stdout, stderr or platform.
            pattern: Regular expression (RE2 syntax) to match anywhere in the line.
            level: Minimum level. Lines without a level are omitted. One of debug, info, warning or error.
            since: Start of the period, inclusive, by the time at which the worker read the line.
            until: End of the period, exclusive, by the time at which the worker read the line.
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
        """Check that the gateway answers."""
        return self._transport.get(models.Health, "/v1/health")

    def platform_health(self) -> models.PlatformHealth:
        """Show whether the platform works. Site operators also see every check of every service."""
        return self._transport.get(models.PlatformHealth, "/v1/health/platform")

    def me(self) -> models.Me:
        """Get the caller's identity, roles and permissions."""
        return self._transport.get(models.Me, "/v1/me")


class AsyncPlatform(AsyncAPIResource[Platform]):
    """`Platform`, awaited."""

    search_logs = listed(Platform.search_logs)
    health = awaited(Platform.health)
    platform_health = awaited(Platform.platform_health)
    me = awaited(Platform.me)
