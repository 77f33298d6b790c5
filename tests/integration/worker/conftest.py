"""Real workers with real warm parents, around a fake registry and scheduler."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest

from tests.integration.servers import Servers
from tests.integration.worker import executors
from tests.integration.worker.daemon import TO_EXCHANGE, WITH_TORCH, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.metadata import Metadata
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
async def platform(servers: Servers) -> AsyncIterator[FakePlatform]:
    """The neighbours."""
    running = FakePlatform(servers)
    await running.start()
    yield running
    await running.stop()


@pytest.fixture(scope="module")
def daemons(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Daemon]]:
    """Makes workers by name; all are ended after the test."""
    made: list[Daemon] = []
    root = tmp_path_factory.mktemp("workers")

    def make(name: str) -> Daemon:
        daemon = Daemon(servers, name, root / name)
        made.append(daemon)
        return daemon

    yield make
    for daemon in made:
        daemon.clear_away()


@pytest.fixture(
    scope="module", params=[pytest.param("process"), pytest.param("container", marks=executors.need_podman)]
)
async def executor(
    request: pytest.FixtureRequest, platform: FakePlatform
) -> AsyncIterator[executors.Executor]:
    """Each executor, one after the other."""
    async with executors.opened(request.param, platform) as made:
        yield made


@pytest.fixture(scope="module")
async def worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    """One worker that has been heard, its warm parent imported."""
    return await heard(platform, daemons("w1"))


@pytest.fixture(scope="module")
async def exchanging_worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    """The same, whose warm parent has imported what the ranks of a gang need to exchange something."""
    return await heard(platform, daemons("w1"), **TO_EXCHANGE)


@pytest.fixture(scope="module")
async def torch_worker(platform: FakePlatform, daemons: Callable[[str], Daemon]) -> Daemon:
    """The same, whose warm parent has imported what scripts need that train."""
    return await heard(platform, daemons("w1"), **WITH_TORCH)


async def heard(platform: FakePlatform, daemon: Daemon, **settings: str) -> Daemon:
    daemon.start(**settings)
    socket = daemon.directory / "parent/parent.sock"
    await eventually(lambda: daemon.name in platform.observed and socket.exists())
    return daemon


@pytest.fixture
async def metadata() -> AsyncIterator[Metadata]:
    """The clouds, which say nothing yet."""
    service = Metadata()
    await service.start()
    yield service
    await service.stop()
