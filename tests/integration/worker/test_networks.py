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
from tests.support.network_namespaces import need_networks
from tests.support.waiting import eventually
from worker.core.gang.private_network import GANG_INTERFACE, gang_address


def members_in(network: str) -> tuple[GangMember, ...]:
    """Return the workers whose runs get this network."""
    return tuple(
        GangMember(
            worker=f"{network}{number}",
            slots=1,
            address=address_of(number),
            private_network=network == "private",
        )
        for number in range(3)
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


@pytest.fixture(scope="module", params=["host", "private"])
async def network(
    request: pytest.FixtureRequest,
    platform: FakePlatform,
    daemons: Callable[[str], Daemon],
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[str]:
    """Three workers that have been heard, and the network that their runs get; they reach the platform by a passage, and each other by the bridge alone."""
    network: str = request.param
    if network == "private":
        need_networks()
    folder = tmp_path_factory.mktemp("out")
    ports = [urlsplit(url).port or 0 for url in (platform.servers.nats.url, platform.store.url)]
    names = [str(member.worker) for member in members_in(network)]
    with joined_machines(len(names), folder, ports) as inside:
        servers = await lead_out(folder, ports)
        started = []
        for number, name in enumerate(names):
            daemon = daemons(name)
            daemon.before = inside[number]
            own = {"MUSTER_WORKER__ADDRESS": address_of(number), "MUSTER_WORKER__NETWORK": network}
            daemon.start(**own, **TO_EXCHANGE)
            started.append(daemon)
        await eventually(lambda: set(names) <= set(platform.observed))
        yield network
        for daemon in started:
            daemon.stop()
        for server in servers:
            server.close()


@pytest.mark.parametrize("distributed", ["horovod", "torch"])
async def test_three_machines_train_over_the_network_that_joins_them(
    platform: FakePlatform, tmp_path: Path, network: str, distributed: Distributed
) -> None:
    if distributed == "horovod" and not version("horovod").endswith(f".p{PATCH_LEVEL}"):
        missing("a Horovod with the patch of its process sets", "run `make setup`")
    is_private = network == "private"
    members = members_in(network)
    assert all(platform.observed[member.worker].private_network == is_private for member in members)
    addresses = [gang_address(1, rank) if is_private else one.address for rank, one in enumerate(members)]
    interface = GANG_INTERFACE if is_private else INTERFACE
    code = platform.add_code(code_in(tmp_path, f"ADDRESSES = {addresses}\n{SCRIPT}"))
    run = await begin_gang(
        platform,
        platform.allocation(
            f"three {distributed} {network}", code, members, spec={"distributed": distributed}
        ),
    )
    assert (run.rendezvous or "").startswith(f"{addresses[0]}:")
    for name in [str(member.worker) for member in members]:
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc]
        assert platform.of(name, run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
    await eventually(lambda: platform.steps(run) == [1])
    assert [record.values for record in platform.reports[run.run_id].values()] == [{"total": 3.0}]
    for rank in range(3):
        line = f"rank {rank} of 3 sees 3 by {{'{interface}'}}"
        await eventually(lambda line=line: line in platform.text(run))  # type: ignore[misc]
