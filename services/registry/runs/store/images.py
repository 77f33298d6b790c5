"""Digests of experiments' images."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from services.registry.store.tables import images
from shared.messages.runs import AllocationFacts


async def save_image(
    connection: AsyncConnection, facts: AllocationFacts, image: str, digest: str, now: datetime
) -> None:
    """Store the digest of an image that a run resolved, unless its experiment has one. Waits for a transaction that stores another."""
    row = insert(images).values(
        experiment=facts.experiment_id,
        image=image,
        tenant=facts.tenant,
        digest=digest,
        run=facts.run_id,
        resolved_at=now,
    )
    await connection.execute(row.on_conflict_do_nothing())


async def load_image(connection: AsyncConnection, experiment: UUID, image: str) -> str | None:
    """Return the digest of an experiment's image; None if no run has resolved it."""
    digest: str | None = await connection.scalar(
        select(images.c.digest).where(images.c.experiment == experiment, images.c.image == image)
    )
    return digest
