"""Identities: what names what. UUIDv7 for what begins here, uuid5 for what a message causes, so that a repeated handler repeats its ids.

They are made as the database's driver makes them: its UUID equals the standard library's and stands for it, but is written in C. A plan
looks ids up two hundred times for each placement, which took a tenth of its time.
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
"""The tenant of what belongs to none: workers, pools, instances. Its messages are handled under the system role."""


def id_of(value: int) -> UUID:
    """The id that these 128 bits are."""
    made: UUID = pgproto.UUID(value.to_bytes(16, "big"))
    return made


def new_id(clock: Clock) -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits; ids made later sort later."""
    milliseconds = (
        clock.now() - _EPOCH
    ) // _MILLISECOND  # exact: of a float's product two of them may be one
    random = int.from_bytes(os.urandom(10), "big")  # six bits of it give way to version and variant
    return _versioned((milliseconds & (1 << 48) - 1) << 80 | random, 7)


def derived_id(parent: UUID, *parts: str | int) -> UUID:
    """The uuid5 of the parent's id and the given words: the same cause always names the same effect."""
    name = ":".join([str(part) for part in parts])
    digest = sha1(parent.bytes + name.encode(), usedforsecurity=False).digest()
    return _versioned(int.from_bytes(digest[:16], "big"), 5)


def _versioned(value: int, version: int) -> UUID:
    """The id of these bits, but for those that tell version and variant (RFC 9562)."""
    return id_of(value & ~(0xF << 76 | 0x3 << 62) | version << 76 | 0b10 << 62)


def subject_token(worker: WorkerId) -> str:
    """The worker's id as one token of a NATS subject; refuses what would split or widen a subject."""
    if not worker or any(sign in worker for sign in ".*> \t\r\n"):
        raise ValueError(f"worker id {worker!r} cannot stand in a subject")
    return worker
