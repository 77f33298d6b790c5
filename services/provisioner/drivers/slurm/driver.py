"""The driver `slurm`: a worker is a job of an existing cluster; an intent is a job array with its name."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.launches import Intent, Launched, Sighting, worker_at
from services.provisioner.drivers.bootstrap import Bootstrap, job_script
from services.provisioner.drivers.driver import MachineRef
from services.provisioner.drivers.slurm.commands import SlurmRefused, ask, refusal, run
from services.provisioner.drivers.slurm.queue import job_name, read_jobs, sightings_of
from shared.ids import WorkerId

FIND_INDEX = """\
index=$SLURM_ARRAY_TASK_ID
address=$(hostname -I 2>/dev/null | cut -d' ' -f1)
address=${address:-$(hostname)}
"""
"""A node's first address, at which other nodes of its cluster reach it."""
_CANCELLED_AT_ONCE = 500
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class JobKind:
    """Slurm options of a job of one machine kind; the partition's defaults apply to the rest.

    Attributes:
        gres: As for `--gres`: `gpu:a100:8`.
        options: Further sbatch options, as written on its command line: `--constraint=nvlink`.
    """

    partition: str | None = None
    gres: str | None = None
    cpus: int | None = None
    memory_gib: float | None = None
    options: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """How a deployment's workers run in one cluster.

    Attributes:
        name: Name of the deployment, part of its job names: letters, digits and `-`.
        environment: Environment of Slurm's programs: `PATH`, and `SLURM_CONF` if it is not in its default location.
        kinds: Options of the catalogue's kinds; a kind that is not listed is a partition of that name.
        time_limit: As for `--time`. When Slurm ends the job, the worker is drained and replaced like a reclaimed
            machine.
        log_directory: Directory for each job's output, shared by the nodes.
    """

    name: str
    bootstrap: Bootstrap
    environment: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, JobKind] = field(default_factory=dict)
    account: str | None = None
    qos: str | None = None
    time_limit: str | None = None
    log_directory: str | None = None


class SlurmDriver:
    """Workers of one deployment in one cluster."""

    most_per_intent = 1000
    lateness = timedelta(seconds=5)
    terminates_orphans = True
    identity = None

    def __init__(self, site: SlurmSite, name: str = "slurm") -> None:
        self.name = name
        self._site = site
        # Slurm has no idempotency, so each submission lists the jobs first, and only one runs at a time.
        self._submitting = asyncio.Lock()

    def watch(self, notify: Callable[[], None]) -> None:
        """Do nothing: changes in the queue are found by listing."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """Submit the intent's jobs. Jobs that wait for nodes count as placed, because Slurm has accepted them."""
        async with self._submitting:
            name = job_name(self._site.name, intent.id)
            jobs = [job for job in read_jobs(await ask(self._site.environment)) if job.name == name]
            if jobs:
                return Launched({worker_at(intent.id, job.index): job.external_id for job in jobs})
            script = job_script(self._site.bootstrap, intent, tokens, FIND_INDEX)
            try:
                answer = await run(
                    "sbatch",
                    *sbatch_options(self._site, intent),
                    environment=self._site.environment,
                    script=script,
                )
            except SlurmRefused as error:
                return Launched(refused=refusal(error.message, intent.offer.label))
        array = answer.strip().partition(";")[0]
        _log.info("jobs were submitted", intent=intent.id, array=array, jobs=len(intent.instances))
        return Launched(
            {worker_at(intent.id, index): f"{array}_{index}" for index in range(len(intent.instances))}
        )

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Do nothing: a job restarts its worker by itself, and is gone when it ends."""

    async def kick(self, worker: WorkerId) -> None:
        """Do nothing: the job restarts a worker that exits, and a worker without heartbeat may train well."""
        _log.warning("a worker in Slurm sends no heartbeat; its job is left running", worker=worker)

    async def observe(self, awaited: Collection[IntentId] | None = None) -> Mapping[WorkerId, Sighting]:
        return sightings_of(read_jobs(await ask(self._site.environment)), self._site.name)

    async def terminate(self, machines: Collection[MachineRef]) -> None:
        ids = {machine.external_id for machine in machines if machine.external_id is not None}
        unnamed = {machine.worker for machine in machines if machine.external_id is None}
        if unnamed:
            for worker, seen in (await self.observe()).items():
                if worker in unnamed and seen.external_id is not None:
                    ids |= {seen.external_id, *seen.extras}
        due = sorted(ids)
        for first in range(0, len(due), _CANCELLED_AT_ONCE):
            # For missing jobs it only warns.
            await run("scancel", *due[first : first + _CANCELLED_AT_ONCE], environment=self._site.environment)


def sbatch_options(site: SlurmSite, intent: Intent) -> list[str]:
    """Return the options of an intent's job array: one node and one task per job, no requeue, and none of our environment."""
    kind = site.kinds.get(intent.offer.kind.name, JobKind(partition=intent.offer.kind.name))
    log = f"{site.log_directory}/%x-%a.log" if site.log_directory else "/dev/null"
    chosen = {
        "job-name": job_name(site.name, intent.id),
        "array": f"0-{len(intent.instances) - 1}",
        "partition": kind.partition,
        "gres": kind.gres,
        "cpus-per-task": kind.cpus,
        "mem": f"{round(kind.memory_gib * 1024)}M" if kind.memory_gib else None,
        "account": site.account,
        "qos": site.qos,
        "time": site.time_limit,
        "nodes": 1,
        "ntasks": 1,
        "output": log,
        "chdir": "/",
        "export": "NONE",
        "comment": f"Muster, pool {intent.pool}",
    }
    given = [f"--{name}={value}" for name, value in chosen.items() if value is not None]
    return ["--parsable", "--no-requeue", *given, *kind.options]
