"""The object store's disk is full for a while, which spoils one partition of its index: it is restarted, and takes objects again."""

import io
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from minio import Minio
from minio.error import S3Error
from urllib3 import PoolManager

from deploy.embedded.first_start.buckets import make_bucket
from deploy.embedded.first_start.certificates import make_certificates
from deploy.embedded.host.ports import free_ports
from deploy.embedded.servers import Home, S3Server
from deploy.embedded.servers.s3 import BUCKET, PORTS_NEEDED
from deploy.embedded.servers.s3_probe import PARTITIONS, ProbeTimes, StoreProbe, partition_of
from deploy.embedded.supervision.supervised_process import SupervisedProcess
from shared.clock import SystemClock
from tests.support.small_disk import filled, small_disk

DISK_BYTES = 1500 * 1024 * 1024
"""A volume of the store is a GiB."""
TIMES = ProbeTimes(every_s=0.5, again_s=0.2, stuck_after_s=2.0)
FOLDER = "checkpoints/one"
TIMEOUT_S = 60.0

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", DISK_BYTES) as folder:
        yield folder


@pytest.fixture
def keeper(disk: Path) -> Iterator[SupervisedProcess]:
    home = Home(disk / "home")
    home.make()
    server = S3Server(home, free_ports(PORTS_NEEDED), times=TIMES)
    if server.minio:
        pytest.skip("this is about SeaweedFS, and MinIO's server is installed here")
    make_certificates(server.certificates, SystemClock().now())
    keeper = SupervisedProcess(server, "server")
    try:
        _tick_until(keeper, lambda: keeper.state == "running")
        make_bucket(server.url, *server.administrator, BUCKET)
        yield keeper
    finally:
        keeper.stop()


def _tick_until(keeper: SupervisedProcess, condition: Callable[[], bool]) -> None:
    """Do what the supervisor does, until the condition holds."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, keeper.part()
        keeper.tick(time.monotonic())
        time.sleep(0.05)


def _store(server: S3Server) -> Callable[[str], None]:
    """Store an empty object, of which the index alone knows."""
    client = Minio(
        server.url.removeprefix("http://"),
        *server.platform,
        secure=False,
        region="us-east-1",
        http_client=PoolManager(retries=False),
    )

    def store(key: str) -> None:
        client.put_object(BUCKET, key, io.BytesIO(b""), 0)

    return store


def test_a_partition_that_a_full_disk_spoiled_is_found_and_mended_by_a_restart(
    keeper: SupervisedProcess, disk: Path
) -> None:
    server = keeper.daemon
    assert isinstance(server, S3Server)
    store = _store(server)
    with filled(disk):
        for number in range(80):
            with suppress(S3Error):
                store(f"{FOLDER}/{number}")
        _tick_until(keeper, lambda: "full" in keeper.trouble)
        assert keeper.restarts == 0, "a restart does not help while the disk is full"
    assert shutil.disk_usage(disk).free > DISK_BYTES // 2
    with pytest.raises(S3Error):
        store(f"{FOLDER}/after")
    partition = partition_of(f"/buckets/{BUCKET}/{FOLDER}")
    _tick_until(keeper, lambda: f"partitions {partition} of" in keeper.trouble)
    _tick_until(keeper, lambda: keeper.restarts == 1 and keeper.state == "running")
    assert f"partitions {partition} of" in keeper.part().restarted_for
    store(f"{FOLDER}/after")
    _tick_until(keeper, lambda: not keeper.trouble)
    assert keeper.restarts == 1


def test_a_probe_writes_into_every_partition_and_leaves_no_object(keeper: SupervisedProcess) -> None:
    server = keeper.daemon
    assert isinstance(server, S3Server)
    index = server.home.data("s3") / "filerldb2"
    sizes = _log_sizes(index)
    assert len(sizes) == PARTITIONS
    assert StoreProbe(server.url, BUCKET, server.platform).run() == {}
    grown = {name for name, size in _log_sizes(index).items() if size > sizes[name]}
    assert grown == set(sizes)
    client = Minio(server.url.removeprefix("http://"), *server.platform, secure=False, region="us-east-1")
    assert list(client.list_objects(BUCKET, recursive=True)) == []


def _log_sizes(index: Path) -> dict[str, int]:
    return {
        folder.name: sum(log.stat().st_size for log in folder.glob("*.log")) for folder in index.iterdir()
    }
