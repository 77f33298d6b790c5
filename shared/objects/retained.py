"""Interface to a bucket whose objects cannot be changed or deleted before a date (S3 Object Lock, mode COMPLIANCE)."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Protocol


class RetainedObjects(Protocol):
    """One bucket with versions. Every call raises `Transient` while the server is unavailable or the bucket is missing."""

    async def put_retained(self, key: str, content: bytes, until: datetime) -> None:
        """Store a version of the object that nobody can change or delete until then. Raises `Broken` if the store refuses."""

    def list_versions(self, prefix: str, after: str = "") -> AsyncIterator[str]:
        """Yield the keys with a stored version, in order, once per version.

        It includes keys that were "deleted": in a bucket with versions that only adds a marker, which hides the key.

        Args:
            after: Only keys after this one.
        """

    async def retains(self, key: str, until: datetime) -> bool:
        """Return whether the store keeps a version until then, by storing one and trying to delete it and to shorten its retention."""

    async def close(self) -> None:
        """Release threads and connections."""
