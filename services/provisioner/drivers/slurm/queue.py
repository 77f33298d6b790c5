"""The jobs of a Slurm cluster as `squeue --json` shows them: pure. The format changed between Slurm's versions; both are read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from services.provisioner.core.instance import IntentId
from services.provisioner.core.intents import Presence, Sighting, worker_at
from shared.ids import WorkerId

GONE = frozenset(
    "COMPLETED CANCELLED FAILED TIMEOUT NODE_FAIL PREEMPTED BOOT_FAIL DEADLINE OUT_OF_MEMORY REVOKED COMPLETING".split()
)
"""States in which a job holds no machine, or is bound to leave it; in all others it waits for one, or has it."""
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


@dataclass(frozen=True, slots=True)
class Job:
    """One job of an array. `nodes` is empty while it waits; `states`: the state, and flags beside it."""

    name: str
    external_id: str
    index: int
    states: frozenset[str]
    nodes: str
    reason: str

    @property
    def is_gone(self) -> bool:
        return not self.states.isdisjoint(GONE)


def job_name(site: str, intent: IntentId) -> str:
    """By it an intent's jobs are found again, and told from those of others."""
    return f"{_prefix(site)}{intent}"


def read_jobs(answer: Mapping[str, Any]) -> list[Job]:
    """All jobs of arrays; of one that waits as a whole, each."""
    return [job for record in answer.get("jobs", ()) for job in _jobs_of(record)]


def sightings_of(jobs: Sequence[Job], site: str) -> dict[WorkerId, Sighting]:
    """The workers of a site. Of several jobs of one worker the first submitted is the worker's."""
    found: dict[WorkerId, list[Job]] = {}
    intents: dict[WorkerId, IntentId] = {}
    for job in jobs:
        intent = intent_of(job.name, site)
        if intent is not None and not job.is_gone:
            worker = worker_at(intent, job.index)
            intents[worker] = intent
            found.setdefault(worker, []).append(job)
    return {worker: _sighting(of, intents[worker]) for worker, of in found.items()}


def intent_of(name: str, site: str) -> IntentId | None:
    """The intent of a job of ours; None of any other."""
    try:
        return IntentId(UUID(name.removeprefix(_prefix(site)))) if name.startswith(_prefix(site)) else None
    except ValueError:
        return None


def _prefix(site: str) -> str:
    return f"muster-{site}-"


def _sighting(jobs: list[Job], intent: IntentId) -> Sighting:
    first, *more = sorted(jobs, key=lambda job: int(job.external_id.partition("_")[0]))
    return Sighting(Presence.RUNNING, first.external_id, intent, None, tuple(job.external_id for job in more))


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
            nodes=str(record.get("nodes", "")),
            reason=str(record.get("state_reason", "")),
        )


def _number(value: Any) -> int | None:
    """A number, or since Slurm 23.02 an object that says whether it is set."""
    if isinstance(value, Mapping):
        return int(value["number"]) if value.get("set") else None
    return None if value is None else int(value)


def _expanded(text: str) -> list[int]:
    """The indices in `0-2,5%4`; `%` limits how many run at once."""
    found: list[int] = []
    for first, last, step in _RANGE.findall(text.partition("%")[0]):
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found
