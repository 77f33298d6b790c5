"""A gang of three workers, each in a network namespace of its own: it trains over the network that joins them, and listens nowhere else."""

from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.horovod.toolchain import PATCH_LEVEL
from muster.config.optimizations import Distributed
from shared.messages.trial_specs import GangMember
from tests.integration.worker.daemon import TO_EXCHANGE, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.networks import INTERFACE, address_of, joined_machines
from tests.integration.worker.passage import lead_out
from tests.integration.worker.support import begin_gang, code_in, state_of
from tests.support.missing_dependency import missing
from tests.support.waiting import eventually

NAMES = ("n0", "n1", "n2")
MEMBERS = tuple(
    GangMember(worker=name, slots=1, address=address_of(number)) for number, name in enumerate(NAMES)
)

SCRIPT = """
import os, muster
trial = muster.trial()
import psutil, torch
exchange = trial._gang._collectives
total = exchange.total(torch.tensor([trial.rank]), "test.total").item()
interfaces = {os.environ.get(name) for name in ("GLOO_SOCKET_IFNAME", "HOROVOD_GLOO_IFACE")} - {None}
sockets = psutil.net_connections("inet")
listens = sorted({one.laddr.ip for one in sockets if one.status == psutil.CONN_LISTEN})
talks = sorted({one.raddr.ip for one in sockets if one.raddr and not one.raddr.ip.endswith("127.0.0.1")})
print("rank", trial.rank, "of", trial.size, "sees", total, "by", interfaces, "listens", listens, "talks", talks)
assert all(address.split(":")[-1] in ("127.0.0.1", ADDRESSES[trial.rank]) for address in listens), listens
assert {address.split(":")[-1] for address in talks} - {ADDRESSES[trial.rank]} <= set(ADDRESSES), talks
trial.report(1, total=total)
exchange.total(torch.tensor([0]), "test.end")
"""


@pytest.fixture(scope="module")
async def machines(
    platform: FakePlatform, daemons: Callable[[str], Daemon], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[None]:
    """Three workers that have been heard; they reach the platform by a passage, and each other by the bridge alone."""
    folder = tmp_path_factory.mktemp("out")
    ports = [urlsplit(url).port or 0 for url in (platform.servers.nats.url, platform.store.url)]
    with joined_machines(len(NAMES), folder, ports) as inside:
        servers = await lead_out(folder, ports)
        started = []
        for number, name in enumerate(NAMES):
            daemon = daemons(name)
            daemon.before = inside[number]
            daemon.start(MUSTER_WORKER__ADDRESS=address_of(number), **TO_EXCHANGE)
            started.append(daemon)
        await eventually(lambda: set(NAMES) <= set(platform.observed))
        yield
        for daemon in started:
            daemon.stop()
        for server in servers:
            server.close()


@pytest.mark.usefixtures("machines")
@pytest.mark.parametrize("distributed", ["horovod", "torch"])
async def test_three_machines_train_over_the_network_that_joins_them(
    platform: FakePlatform, tmp_path: Path, distributed: Distributed
) -> None:
    if distributed == "horovod" and not version("horovod").endswith(f".p{PATCH_LEVEL}"):
        missing("a Horovod with the patch of its process sets", "run `make setup`")
    addresses = [member.address for member in MEMBERS]
    code = platform.add_code(code_in(tmp_path, f"ADDRESSES = {addresses}\n{SCRIPT}"))
    run = await begin_gang(
        platform,
        platform.allocation(f"three {distributed}", code, MEMBERS, spec={"distributed": distributed}),
    )
    assert (run.rendezvous or "").startswith(f"{addresses[0]}:")
    for name in NAMES:
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc]
        assert platform.of(name, run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
    await eventually(lambda: platform.steps(run) == [1])
    assert [record.values for record in platform.reports[run.run_id].values()] == [{"total": 3.0}]
    for rank in range(3):
        line = f"rank {rank} of 3 sees 3 by {{'{INTERFACE}'}}"
        await eventually(lambda line=line: line in platform.text(run))  # type: ignore[misc]
