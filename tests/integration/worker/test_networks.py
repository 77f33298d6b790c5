"""A gang of three workers, each in a network namespace of its own: it trains over the network that joins them, and listens nowhere else."""

import subprocess
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.horovod.toolchain import PATCH_LEVEL
from muster.config.optimizations import Distributed
from shared.messages.trial_specs import GangMember, Signal
from tests.integration.worker.daemon import WITH_TORCH, Daemon
from tests.integration.worker.fakes import FakePlatform
from tests.integration.worker.networks import INTERFACE, address_of, joined_machines
from tests.integration.worker.passage import lead_out
from tests.integration.worker.support import begin_gang, code_in, state_of
from tests.integration.worker.test_resize import SCRIPT as ELASTIC_SCRIPT, form, formed, sizes
from tests.support.missing_dependency import missing
from tests.support.network_namespaces import need_networks
from tests.support.waiting import eventually
from worker.core.gang.private_network import gang_address, gang_interface


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
import socket
def reaches(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
print("rank", trial.rank, "reaches the platform:", [reaches(port) for port in PORTS])
trial.report(1, total=total)
exchange.total(torch.tensor([0]), "test.end")
"""

EXCHANGING_SCRIPT = """
import muster, time
trial = muster.trial()
import torch
step = 0
while not trial.should_stop():
    step += 1
    total = trial._gang._collectives.total(torch.tensor([trial.rank]), "test.total").item()
    trial.report(step, total=total)
    time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def workers() -> dict[str, Daemon]:
    """The daemons of `network`, by name."""
    return {}


@pytest.fixture(scope="module", params=["host", "private"])
async def network(
    request: pytest.FixtureRequest,
    platform: FakePlatform,
    daemons: Callable[[str], Daemon],
    tmp_path_factory: pytest.TempPathFactory,
    workers: dict[str, Daemon],
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
            daemon.start(**own, **WITH_TORCH)
            started.append(daemon)
            workers[name] = daemon
        await eventually(lambda: set(names) <= set(platform.observed))
        yield network
        for daemon in started:
            daemon.stop()
            table = f"muster-{sha256(str(daemon.directory).encode()).hexdigest()[:8]}"
            assert not list(Path("/run/netns").glob(f"{table}-*"))
            rules = subprocess.run(
                [*daemon.before, "nft", "list", "ruleset"], capture_output=True, text=True, check=False
            )
            assert "muster" not in rules.stdout
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
    own = "each run has a network of its own" if is_private else "because MUSTER_WORKER__NETWORK is host"
    for reported in (platform.observed[member.worker] for member in members):
        assert reported.private_network == is_private and own in reported.isolation_detail
    addresses = [gang_address(1, rank) if is_private else one.address for rank, one in enumerate(members)]
    interface = gang_interface(1) if is_private else INTERFACE
    ports = [urlsplit(url).port for url in (platform.servers.nats.url, platform.store.url)]
    script = f"ADDRESSES, PORTS = {addresses}, {ports}\n{SCRIPT}"
    code = platform.add_code(code_in(tmp_path, script))
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
        reaches = f"rank {rank} reaches the platform: {[not is_private] * len(ports)}"
        assert reaches in platform.text(run), "the ports of the platform are on the machine's loopback"


async def test_a_run_grows_to_other_machines_and_back(
    platform: FakePlatform, tmp_path: Path, network: str
) -> None:
    one, two, three = members_in(network)
    code = platform.add_code(code_in(tmp_path, ELASTIC_SCRIPT))
    spec = {"slots": {"min": 1, "max": 3}}
    run = platform.allocation(f"resized {network}", code, (one,), spec=spec)
    await platform.desire(str(one.worker), run)
    await eventually(lambda: len(sizes(platform, run)) > 5)
    everywhere = tuple(str(member.worker) for member in (one, two, three))
    await form(platform, formed(run, 2, one, two), everywhere[:2])
    await eventually(lambda: sizes(platform, run)[-1] == 2)
    await form(platform, formed(run, 3, one, two, three), everywhere)
    await eventually(lambda: sizes(platform, run)[-1] == 3)
    await form(platform, formed(run, 4, one, three), everywhere)
    await eventually(lambda: sizes(platform, run)[-1] == 2)
    alone = await form(platform, formed(run, 5, one), everywhere)
    await eventually(lambda: sizes(platform, run)[-1] == 1)
    await platform.desire(everywhere[0], alone.model_copy(update={"signal": Signal.STOP}))
    await eventually(lambda: state_of(platform, run, everywhere[0]) == "exited")
    assert platform.of(everywhere[0], run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
    for name in everywhere:
        await platform.desire(name)


async def test_a_killed_daemon_finds_its_runs_networks(
    platform: FakePlatform, tmp_path: Path, network: str, workers: dict[str, Daemon]
) -> None:
    one, two, _ = members_in(network)
    names = (str(one.worker), str(two.worker))
    code = platform.add_code(code_in(tmp_path, EXCHANGING_SCRIPT))
    run = await begin_gang(platform, platform.allocation(f"adopted {network}", code, (one, two)))
    await eventually(lambda: len(platform.steps(run)) > 5)
    workers[names[0]].kill()
    workers[names[0]].start_again()
    many = len(platform.steps(run))
    await eventually(lambda: len(platform.steps(run)) > many + 20)
    for name in names:
        await platform.desire(name, run.model_copy(update={"signal": Signal.STOP}))
    for name in names:
        await eventually(lambda name=name: state_of(platform, run, name) == "exited")  # type: ignore[misc]
        assert platform.of(name, run).exit_code == 0, platform.text(run)  # type: ignore[union-attr]
        await platform.desire(name)
