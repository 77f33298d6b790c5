"""Objects that nobody can change or delete before a date: the embedded S3 server as the audit log's identity uses it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from minio import Minio
from minio.commonconfig import COMPLIANCE, GOVERNANCE
from minio.error import S3Error
from minio.retention import Retention

from deploy.embedded.servers import S3Server
from deploy.embedded.servers.s3 import AUDIT_BUCKET, BUCKET
from shared.clock import SystemClock
from shared.errors import Broken
from shared.objects.s3_retained import S3RetainedObjects

CLOCK = SystemClock()


@pytest.fixture
async def objects(s3_server: S3Server) -> AsyncIterator[S3RetainedObjects]:
    opened = S3RetainedObjects(s3_server.url, *s3_server.audit, AUDIT_BUCKET, clock=CLOCK)
    yield opened
    await opened.close()


async def test_the_store_demonstrates_that_it_retains(objects: S3RetainedObjects) -> None:
    assert await objects.retains(f"probe/{uuid4()}", CLOCK.now() + timedelta(minutes=1))


async def test_a_bucket_without_object_lock_does_not(s3_server: S3Server) -> None:
    plain = S3RetainedObjects(s3_server.url, *s3_server.platform, BUCKET, clock=CLOCK)
    assert not await plain.retains(f"probe/{uuid4()}", CLOCK.now() + timedelta(minutes=1))
    with pytest.raises(Broken):
        await plain.put_retained(f"probe/{uuid4()}", b"", CLOCK.now() + timedelta(minutes=1))
    await plain.close()


async def test_what_is_hidden_or_overwritten_is_still_listed(
    objects: S3RetainedObjects, s3_server: S3Server
) -> None:
    folder = f"list/{uuid4()}/"
    until = CLOCK.now() + timedelta(hours=1)
    for number in (1, 2, 3):
        await objects.put_retained(f"{folder}{number}", b"", until)
    for pair in (s3_server.audit, s3_server.administrator):
        client = Minio(s3_server.url.removeprefix("http://"), *pair, secure=False, region="us-east-1")
        client.remove_object(AUDIT_BUCKET, f"{folder}1")
        versions = [
            one.version_id for one in client.list_objects(AUDIT_BUCKET, f"{folder}2", include_version=True)
        ]
        for mode in (COMPLIANCE, GOVERNANCE):
            shorter = Retention(mode, CLOCK.now() + timedelta(minutes=1))
            with pytest.raises(S3Error):
                client.set_object_retention(AUDIT_BUCKET, f"{folder}2", shorter, versions[0])
        with pytest.raises(S3Error):
            client.remove_object(AUDIT_BUCKET, f"{folder}2", versions[0])
        with pytest.raises(S3Error):
            client.remove_bucket(AUDIT_BUCKET)
    assert {key async for key in objects.list_versions(folder)} == {
        f"{folder}{number}" for number in (1, 2, 3)
    }
    assert [key async for key in objects.list_versions(folder, f"{folder}2")] == [f"{folder}3"]
