"""The driver `slurm` against a real Slurm on this machine: the contract of drivers, and what is its own."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from services.provisioner.core.catalogue import MachineKind, Offer
from services.provisioner.core.instances.launches import Intent, Presence
from services.provisioner.drivers.bootstrap import Bootstrap
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.slurm.commands import ask
from services.provisioner.drivers.slurm.driver import JobKind, SlurmDriver, SlurmSite
from services.provisioner.drivers.slurm.queue import job_name, read_jobs
from shared.errors import Transient
from shared.ids import WorkerId
from tests.contract.machine_driver import MachineDriverContract, an_intent, sees, tokens
from tests.support.slurm_cluster import GPUS, Cluster, slurm_cluster
from tests.support.waiting import eventually

CPUS = Offer(MachineKind("cpus", "slurm", 1, "cpu"))
GPU = Offer(MachineKind("two-gpus", "slurm", 2, "cuda", gpu="a100"))
WORKER = """#!/bin/bash
env > "$MUSTER_WORKER__ID.env.new" && mv "$MUSTER_WORKER__ID.env.new" "{notes}/$MUSTER_WORKER__ID.env"
trap 'exit 0' TERM
sleep 600 & wait
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as found:
        yield found


@pytest.fixture
async def site(cluster: Cluster, tmp_path: Path) -> AsyncIterator[SlurmSite]:
    worker = tmp_path / "python"
    worker.write_text(
        WORKER.format(notes=tmp_path).replace(
            '"$MUSTER_WORKER__ID.env.new"', f'"{tmp_path}/$MUSTER_WORKER__ID.new"'
        )
    )
    worker.chmod(0o755)
    own = Bootstrap("http://gateway", python=str(worker), directory=str(tmp_path / "workers"), user=None)
    kinds = {
        "two-gpus": JobKind("gpus", gres="gpu:a100:2"),
        "too-large": JobKind("gpus", gres=f"gpu:a100:{len(GPUS) + 1}"),
    }
    yield SlurmSite("tests", own, cluster.environment, kinds, log_directory=str(tmp_path))
    cluster.clear()


class TestSlurmDriver(MachineDriverContract[SlurmDriver]):
    offer = CPUS

    @pytest.fixture
    def driver(self, site: SlurmSite) -> SlurmDriver:
        return SlurmDriver(site)

    def again(self, driver: SlurmDriver) -> SlurmDriver:
        return SlurmDriver(driver._site)

    async def lose_machine(self, driver: SlurmDriver, worker: WorkerId) -> None:
        seen = (await driver.observe())[worker]
        Cluster(Path(driver._site.environment["SLURM_CONF"]).parent).run("scancel", str(seen.external_id))

    async def count(self, driver: SlurmDriver, intent: Intent) -> int:
        name = job_name("tests", intent.id)
        return sum(job.name == name for job in read_jobs(await ask(driver._site.environment)))

    async def test_a_job_is_a_worker_with_its_gpus_and_leaves_nothing(
        self, driver: SlurmDriver, tmp_path: Path
    ) -> None:
        intent = an_intent(GPU)
        worker = intent.instances[0].worker
        await driver.launch(intent, tokens(intent))
        file = tmp_path / f"{worker}.env"
        await eventually(file.exists)
        given = dict(line.split("=", 1) for line in file.read_text().splitlines() if "=" in line)
        assert (given["MUSTER_WORKER__ID"], given["MUSTER_WORKER__JOIN_TOKEN"]) == (worker, "let-me-in")
        assert (given["MUSTER_WORKER__SLOTS"], given["MUSTER_WORKER__KIND"]) == ("2", "cuda")
        assert given["MUSTER_WORKER__ADDRESS"]
        assert given["SLURM_JOB_GPUS"].count(",") == 1
        assert "MUSTER_WORKER__USER" not in given, "a job runs as who submitted it"
        directory = tmp_path / "workers" / worker
        assert directory.stat().st_mode & 0o777 == 0o700
        await driver.terminate([MachineRef(worker)])
        await eventually(lambda: not directory.exists())

    async def test_jobs_that_wait_for_nodes_are_there_and_can_be_ended(self, driver: SlurmDriver) -> None:
        fills, waits = an_intent(GPU, len(GPUS) // 2), an_intent(GPU, 2)
        assert (await driver.launch(fills, tokens(fills))).refused is None
        placed = (await driver.launch(waits, tokens(waits))).placed
        assert len(placed) == 2
        for worker in placed:
            await eventually(sees(driver, worker, Presence.RUNNING))
        assert (await driver.launch(waits, tokens(waits))).placed == placed
        await driver.terminate([MachineRef(worker, name) for worker, name in placed.items()])
        for worker in placed:
            await eventually(sees(driver, worker, None))

    @pytest.mark.parametrize(
        ("kind", "cause"),
        [("nowhere", "bad_request"), ("too-large", "bad_request"), ("closed", "no_capacity")],
    )
    async def test_a_refusal_has_its_cause(self, driver: SlurmDriver, kind: str, cause: str) -> None:
        intent = an_intent(Offer(MachineKind(kind, "slurm", 1, "cpu")))
        launched = await driver.launch(intent, tokens(intent))
        assert not launched.placed
        assert launched.refused is not None
        assert launched.refused.cause == cause, launched.refused.reason
        assert f"Slurm refused {kind}" in launched.refused.reason

    async def test_jobs_of_others_are_not_seen(self, site: SlurmSite) -> None:
        intent = an_intent(CPUS)
        await SlurmDriver(replace(site, name="another")).launch(intent, tokens(intent))
        seen = await SlurmDriver(site).observe()
        assert intent.instances[0].worker not in seen

    async def test_a_cluster_that_does_not_answer_says_nothing(self, site: SlurmSite, tmp_path: Path) -> None:
        conf = Path(site.environment["SLURM_CONF"]).read_text()
        lines = [
            "SlurmctldPort=9" if line.startswith("SlurmctldPort") else line for line in conf.splitlines()
        ]
        (tmp_path / "slurm.conf").write_text("\n".join([*lines, "MessageTimeout=2"]))
        away = SlurmDriver(
            replace(site, environment={**site.environment, "SLURM_CONF": str(tmp_path / "slurm.conf")})
        )
        with pytest.raises(Transient):
            await away.observe()
