"""What a cloud says of taking a machine back, by a metadata service of our own."""

from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import ClientSession

from muster.errors import Transient
from tests.integration.worker.metadata import ACTION, PREEMPTED, REBALANCE, Metadata
from worker.machine.reclaim_notices import AwsNotices, GcpNotices, Notice

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def test_aws_says_when_it_takes_a_spot_instance_back(metadata: Metadata) -> None:
    async with ClientSession() as session:
        source = AwsNotices(session, metadata.url)
        assert await source.look(NOW) is None
        metadata.says[REBALANCE] = '{"noticeTime": "2026-01-01T12:00:00Z"}'
        likely = await source.look(NOW)
        assert likely is not None and likely.at is None and "rebalance" in likely.reason
        metadata.token = "second"
        metadata.says[ACTION] = '{"action": "terminate", "time": "2026-01-01T12:02:00Z"}'
        expected = Notice("AWS reclaims this spot instance (terminate)", NOW + timedelta(minutes=2))
        assert await source.look(NOW) == expected, "a token that ran out is replaced"
        metadata.says[ACTION] = "what is this?"
        unread = await source.look(NOW)
        assert unread is not None and unread.at is None


async def test_google_cloud_says_that_it_has_begun(metadata: Metadata) -> None:
    async with ClientSession() as session:
        source = GcpNotices(session, metadata.url)
        metadata.says[PREEMPTED] = "FALSE"
        assert await source.look(NOW) is None
        metadata.says[PREEMPTED] = "TRUE"
        for now in (NOW, NOW + timedelta(seconds=9)):
            notice = await source.look(now)
            assert notice is not None and notice.at == NOW + timedelta(seconds=30)


async def test_a_service_that_does_not_answer_says_nothing() -> None:
    async with ClientSession() as session:
        for source in (AwsNotices(session, "http://127.0.0.1:1"), GcpNotices(session, "http://127.0.0.1:1")):
            with pytest.raises(Transient):
                await source.look(NOW)
