"""Read the jobs of a Slurm cluster from `squeue --json`, without side effects. Both formats of Slurm's versions are supported."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from services.provisioner.core.instances.instance import IntentId
from services.provisioner.core.instances.launches import Presence, Sighting, worker_at
from shared.ids import WorkerId

ENDED_STATES = frozenset(
    "COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY REVOKED COMPLETING".split()
)
"""States in which a job holds no machine or is about to release it; in all others it waits for one or has it."""
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Job:
    """A job of an array. `states` are the state and its flags. `ended_at` is set once it has ended, `started_at` once it has a node."""

    name: str
    external_id: str
    index: int
    states: frozenset[str]
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def has_ended(self) -> bool:
        return not self.states.isdisjoint(ENDED_STATES)


def job_name(site: str, intent: IntentId) -> str:
    """Return the name by which an intent's jobs are found again."""
    return f"{_prefix(site)}{intent}"


def read_jobs(answer: Mapping[str, Any]) -> list[Job]:
    """Return all jobs of arrays, expanding arrays that wait as a whole."""
    return [job for record in answer.get("jobs", ()) for job in _jobs_of(record)]


def sightings_of(jobs: Sequence[Job], site: str) -> dict[WorkerId, Sighting]:
    """Return the workers of a deployment. Of several jobs of one worker, the first submitted that has not ended is the worker's."""
    found: dict[WorkerId, list[Job]] = {}
    intents: dict[WorkerId, IntentId] = {}
    for job in jobs:
        intent = intent_of(job.name, site)
        if intent is not None:
            worker = worker_at(intent, job.index)
            intents[worker] = intent
            found.setdefault(worker, []).append(job)
    return {worker: _sighting(of, intents[worker]) for worker, of in found.items()}


def intent_of(name: str, site: str) -> IntentId | None:
    """Return the intent of a job of this deployment; None for other jobs."""
    try:
        return IntentId(UUID(name.removeprefix(_prefix(site)))) if name.startswith(_prefix(site)) else None
    except ValueError:
        return None


def _prefix(site: str) -> str:
    return f"muster-{site}-"


def _sighting(jobs: list[Job], intent: IntentId) -> Sighting:
    first, *more = sorted(jobs, key=lambda job: (job.has_ended, int(job.external_id.partition("_")[0])))
    return Sighting(
        presence=Presence.ENDED if first.has_ended else Presence.RUNNING,
        external_id=first.external_id,
        intent=intent,
        extras=tuple(job.external_id for job in more if not job.has_ended),
        launched_at=first.started_at,
        ended_at=first.ended_at,
    )


def _jobs_of(record: Mapping[str, Any]) -> Iterator[Job]:
    array, task = _number(record.get("array_job_id")), _number(record.get("array_task_id"))
    if not array:
        return
    state = record.get("job_state") or ()
    states = frozenset([state] if isinstance(state, str) else state)
    waiting = str(record.get("array_task_string") or "")
    for index in [task] if task is not None else _expanded(waiting):
        yield Job(
            name=str(record.get("name", "")),
            external_id=f"{array}_{index}",
            index=index,
            states=states,
            started_at=_time(record.get("start_time")) if "PENDING" not in states else None,
            ended_at=_time(record.get("end_time")) if states & (ENDED_STATES - {"COMPLETING"}) else None,
        )


def _time(value: Any) -> datetime | None:
    seconds = _number(value)
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _number(value: Any) -> int | None:
    """Return a number, which since Slurm 23.02 may be an object that says whether it is set."""
    if isinstance(value, Mapping):
        return int(value["number"]) if value.get("set") else None
    return None if value is None else int(value)


def _expanded(text: str) -> list[int]:
    """Return the indices in `0-2,5%4`; `%` limits how many run at once."""
    found: list[int] = []
    for first, last, step in _RANGE.findall(text.partition("%")[0]):
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found
