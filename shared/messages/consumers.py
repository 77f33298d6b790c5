"""Which service consumes which messages of the streams.

The bus keeper creates a durable consumer for each entry; a service cannot widen its own. A handler for another event needs a line here, and a
platform's bus keeper is upgraded before its services.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shared.messages import (
    budgets,
    catalogue,
    checkpoints,
    deletions,
    experiments,
    instances,
    limits,
    models,
    pools,
    queue,
    reports,
    runs,
    workers,
)
from shared.messages.base import Command, Event

EVENTS: Mapping[str, tuple[type[Event], ...]] = {
    "gateway": (
        budgets.BudgetSpent,
        budgets.BudgetWarned,
        checkpoints.CheckpointAbandoned,
        checkpoints.CheckpointCorrupt,
        checkpoints.CheckpointDeleted,
        checkpoints.CheckpointSaved,
        deletions.EntityDeleted,
        experiments.ExperimentChanged,
        experiments.OperationRefused,
        experiments.TrialChanged,
        instances.InstanceChanged,
        instances.ProviderChanged,
        models.ModelChanged,
        models.VersionChanged,
        queue.RequestRanked,
        runs.RunEnded,
        runs.RunGranted,
        runs.RunResized,
    ),
    "searcher": (
        checkpoints.CheckpointAbandoned,
        checkpoints.CheckpointCorrupt,
        checkpoints.CheckpointSaved,
        checkpoints.UploadsDelayed,
        experiments.SubmissionCommitted,
        pools.PoolCapacity,
        queue.RequestClosed,
        reports.ValidationStored,
        reports.ValidationsSuperseded,
        runs.RunEnded,
        runs.RunGranted,
        runs.RunResized,
    ),
    "scheduler": (
        checkpoints.CheckpointAbandoned,
        checkpoints.CheckpointCorrupt,
        checkpoints.CheckpointSaved,
        experiments.TrialRequested,
        instances.InstanceChanged,
        instances.ProviderChanged,
        limits.LimitsChanged,
    ),
    "provisioner": (
        pools.PoolDemand,
        workers.WorkerDrained,
        workers.WorkerJoined,
        workers.WorkerLost,
        workers.WorkerRefused,
    ),
    "registry": (
        experiments.ExperimentChanged,
        experiments.SubmissionCommitted,
        experiments.TrialChanged,
        experiments.TrialRequested,
        limits.StorageLimitChanged,
        limits.WorkspaceStorageLimitChanged,
        runs.RunEnded,
        runs.RunGranted,
        runs.RunResized,
        workers.WorkerJoined,
        workers.WorkerLost,
        workers.WorkerRemoved,
    ),
}
"""The events that each service handles."""


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """A durable consumer. `filters`: the subjects that it receives, sorted."""

    stream: str
    service: str
    filters: tuple[str, ...]


def all_consumers() -> Iterator[ConsumerConfig]:
    """Yield the durable consumers of every service: one for its events, and one for the commands that it owns."""
    for service, events in EVENTS.items():
        yield ConsumerConfig("EVT", service, tuple(sorted(event.subject("*") for event in events)))
        yield ConsumerConfig(
            "CMD", service, tuple(sorted(command.subject() for command in commands_of(service)))
        )


def commands_of(service: str) -> tuple[type[Command], ...]:
    """Return the commands that a service owns."""
    return tuple(
        message for message in catalogue.ALL if issubclass(message, Command) and service == message.OWNER
    )
