"""Identities: what names what. UUIDv7 for what begins here, uuid5 for what a message causes, so that a repeated handler repeats its ids."""

import os
import uuid
from hashlib import sha1
from typing import NewType
from uuid import UUID

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

_NAMESPACE = UUID("6d757374-6572-5000-8000-000000000000")
DEFAULT_TENANT = TenantId(uuid.uuid5(_NAMESPACE, "tenant:default"))
SITE = TenantId(uuid.uuid5(_NAMESPACE, "tenant:site"))
"""The tenant of what belongs to none: workers, pools, instances. Its messages are handled under the system role."""


def new_id(clock: Clock) -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, then 74 random bits; ids made later sort later."""
    milliseconds = int(clock.now().timestamp() * 1000)
    random = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80
    value |= 0x7 << 76 | (random >> 62 & 0xFFF) << 64
    value |= 0b10 << 62 | random & (1 << 62) - 1
    return UUID(int=value)


def derived_id(parent: UUID, *parts: str | int) -> UUID:
    """The uuid5 of the parent's id and the given words: the same cause always names the same effect."""
    name = ":".join([str(part) for part in parts])
    digest = sha1(parent.bytes + name.encode(), usedforsecurity=False).digest()
    return UUID(bytes=digest[:16], version=5)  # as uuid.uuid5, which imports its hash anew at each call


def subject_token(worker: WorkerId) -> str:
    """The worker's id as one token of a NATS subject; refuses what would split or widen a subject."""
    if not worker or any(sign in worker for sign in ".*> \t\r\n"):
        raise ValueError(f"worker id {worker!r} cannot stand in a subject")
    return worker
