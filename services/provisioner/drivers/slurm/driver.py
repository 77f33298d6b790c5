"""The driver `slurm`: a worker is a job of an existing cluster, an intent an array of them that bears its name."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from services.provisioner.core.instances.instance import Instance, IntentId
from services.provisioner.core.instances.intents import Intent, Launched, Sighting, worker_at
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
"""A node's first address, where the others of its cluster reach it."""
_CANCELLED_AT_ONCE = 500
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class JobKind:
    """What a job of one kind of machine asks Slurm for; what is not set is the partition's choice.

    Attributes:
        gres: As `--gres` takes it: `gpu:a100:8`.
        options: Further ones of sbatch, as they are written there: `--constraint=nvlink`.
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
        name: Of the deployment: letters, digits and `-`; its jobs are told by it from those of others.
        environment: Of Slurm's programs: `PATH`, and `SLURM_CONF` where it is not at its usual place.
        kinds: What the catalogue's kinds are; one that is not named is a partition of that name.
        time_limit: As `--time` takes it. Slurm ends the job then: a worker is drained and replaced as if its machine were taken back.
        log_directory: Where each job's output goes; a folder that the nodes share.
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
    ends_strangers = True
    identity = None

    def __init__(self, site: SlurmSite, name: str = "slurm") -> None:
        self.name = name
        self._site = site
        # Slurm knows no idempotency: who submits looks first, and nobody else of us does so meanwhile.
        self._submitting = asyncio.Lock()

    def watch(self, notify: Callable[[], None]) -> None:
        """Nothing is told: what changes in the queue is seen by looking."""

    async def launch(self, intent: Intent, tokens: Mapping[WorkerId, str]) -> Launched:
        """As the port says. Jobs that wait for nodes are placed: Slurm has taken them, and its queue decides."""
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
                return Launched(refused=refusal(error.message, intent.offer.words))
        array = answer.strip().partition(";")[0]
        _log.info("jobs were submitted", intent=intent.id, array=array, jobs=len(intent.instances))
        return Launched(
            {worker_at(intent.id, index): f"{array}_{index}" for index in range(len(intent.instances))}
        )

    async def start_again(self, instance: Instance, token: str | None) -> None:
        """Nothing: a job starts its worker again by itself, and is gone when it ends."""

    async def kick(self, worker: WorkerId) -> None:
        """Nothing: the job starts a worker that ended by itself, and one that cannot be heard may train well."""
        _log.warning("a worker in Slurm is not heard; its job is left alone", worker=worker)

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
            # Of jobs that are not there it only warns.
            await run("scancel", *due[first : first + _CANCELLED_AT_ONCE], environment=self._site.environment)


def sbatch_options(site: SlurmSite, intent: Intent) -> list[str]:
    """The job array of an intent: one node and one task each, never put back into the queue, with nothing of our environment."""
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
