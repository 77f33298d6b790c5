"""Ids: UUIDv7 for new entities, uuid5 for messages caused by another, so that a repeated handler produces the same ids.

The UUID class is that of asyncpg. It equals the standard library's and replaces it, but is written in C: a plan looks up ids two hundred times for
each placement, which took a tenth of its time.
"""

import os
import uuid
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import NewType
from uuid import UUID

from asyncpg.pgproto import pgproto

from shared.clock import Clock

TenantId = NewType("TenantId", UUID)
ExperimentId = NewType("ExperimentId", UUID)
TrialId = NewType("TrialId", UUID)
RunId = NewType("RunId", UUID)
AllocationId = NewType("AllocationId", UUID)
CheckpointId = NewType("CheckpointId", UUID)
ModelId = NewType("ModelId", UUID)
VersionId = NewType("VersionId", UUID)
InstanceId = NewType("InstanceId", UUID)
WorkerId = NewType("WorkerId", str)
PoolName = NewType("PoolName", str)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_NAMESPACE = UUID("6d757374-6572-5000-8000-000000000000")
DEFAULT_TENANT = TenantId(uuid.uuid5(_NAMESPACE, "tenant:default"))
SITE = TenantId(uuid.uuid5(_NAMESPACE, "tenant:site"))
"""Tenant of entities that belong to no tenant: workers, pools, instances. Their messages are handled under the system role."""


def id_of(value: int) -> UUID:
    """Return the id with these 128 bits."""
    made: UUID = pgproto.UUID(value.to_bytes(16, "big"))
    return made


def new_id(clock: Clock) -> UUID:
    """Return a UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits. Newer ids sort later."""
    milliseconds = (
        clock.now() - _EPOCH
    ) // _MILLISECOND  # exact, while float arithmetic may map two milliseconds to one
    random = int.from_bytes(os.urandom(10), "big")  # version and variant replace six of these bits
    return _versioned((milliseconds & (1 << 48) - 1) << 80 | random, 7)


def derived_id(parent: UUID, *parts: str | int) -> UUID:
    """Return the uuid5 of the parent's id and the given parts: the same cause always gives the same id."""
    name = ":".join([str(part) for part in parts])
    digest = sha1(parent.bytes + name.encode(), usedforsecurity=False).digest()
    return _versioned(int.from_bytes(digest[:16], "big"), 5)


def _versioned(value: int, version: int) -> UUID:
    """Return the id of these bits with version and variant set (RFC 9562)."""
    return id_of(value & ~(0xF << 76 | 0x3 << 62) | version << 76 | 0b10 << 62)


def subject_token(worker: WorkerId) -> str:
    """Return the worker's id as one token of a NATS subject. Raises ValueError for an id that would split or widen a subject."""
    if not worker or any(sign in worker for sign in ".*> \t\r\n"):
        raise ValueError(
            f"worker id {worker!r} cannot be part of a NATS subject: it must not be empty or contain '.', '*', '>' or white space"
        )
    return worker
