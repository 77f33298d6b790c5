"""The object store: what Muster needs beyond reading and writing."""

import asyncio
from datetime import timedelta

from deploy.checks.findings import Finding, error, ok
from shared.clock import SystemClock
from shared.errors import Broken, Transient
from shared.ids import new_id
from shared.objects.s3 import S3Objects
from shared.objects.s3_retained import S3RetainedObjects
from shared.settings import S3Settings

WHY_STORE = "The store holds code, checkpoints and models. Conditional writes keep two writers from replacing each other's objects."
WHY_LOCK = "Anchors of the audit log must stay in the store even if its administrator wants to delete them."
_FOLDER = ".muster-doctor"
_RETENTION = timedelta(minutes=1)


def check_store(settings: S3Settings) -> Finding:
    """Write an object once, try to write it again under the condition that it does not exist, and delete it."""
    return asyncio.run(_check_store(settings))


def check_object_lock(settings: S3Settings) -> Finding:
    """Store an object for a minute, and try to delete it and to shorten its retention."""
    return asyncio.run(_check_object_lock(settings))


async def _check_store(settings: S3Settings) -> Finding:
    clock = SystemClock()
    store = S3Objects.of(settings, clock)
    key = f"{_FOLDER}/{new_id(clock)}"
    try:
        is_first = await store.put_if_absent(key, b".")
        is_second = await store.put_if_absent(key, b".")
        await store.delete(key)
    except (Transient, Broken) as failure:
        return _failed(settings, failure.message)
    finally:
        await store.close()
    if not is_first or is_second:
        return error(
            f"{settings.url} ignores the condition `If-None-Match: *` of writes",
            "use a store with conditional writes: S3, MinIO, SeaweedFS, Ceph 19 or newer",
        )
    return ok(f"the bucket {settings.bucket} can be written, conditionally as well")


async def _check_object_lock(settings: S3Settings) -> Finding:
    clock = SystemClock()
    store = S3RetainedObjects.of(settings, clock)
    try:
        has_lock = await store.retains(f"probe/{new_id(clock)}", clock.now() + _RETENTION)
    except (Transient, Broken) as failure:
        return _failed(settings, failure.message)
    finally:
        await store.close()
    if not has_lock:
        return error(
            f"the bucket {settings.bucket} does not retain objects, or these keys may not set a retention",
            "create the bucket with Object Lock, which cannot be added later to all stores, and grant s3:PutObjectRetention",
        )
    return ok(f"the bucket {settings.bucket} retains objects")


def _failed(settings: S3Settings, why: str) -> Finding:
    return error(
        f"{settings.url} does not accept an object in the bucket {settings.bucket}: {why}",
        f"create the bucket, check address, keys and region; these keys need s3:GetObject, s3:PutObject and s3:DeleteObject on {settings.bucket}/*",
    )
