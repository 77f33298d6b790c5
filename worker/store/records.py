"""The on-disk record of a run, which the next daemon reads. A daemon of another version may have written it.

The record has the fields of `StoredRun`. Removing a field or changing its meaning breaks an upgrade; new fields need defaults.
"""

from dataclasses import dataclass

from pydantic import TypeAdapter

from shared.messages.allocations import DesiredAllocation
from worker.core.process_names import own_parent
from worker.core.run.records import LocalRun


@dataclass(frozen=True, slots=True)
class StoredImage:
    """The image of a run's container. `id`: the engine's id; `digest`: its name with the registry's digest; `variables`: its environment variables;
    `mounts_horovod`: whether the worker's Horovod is mounted into the container."""

    id: str
    digest: str
    variables: dict[str, str]
    mounts_horovod: bool = False


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run with what it needs after a restart. `environment`: its Python environment; empty: the worker's own. `image`: if it runs in a container."""

    run: LocalRun
    allocation: DesiredAllocation
    token: str
    environment: str = ""
    image: StoredImage | None = None

    @property
    def parent(self) -> str:
        """The name of the warm parent that starts its processes."""
        return own_parent(self.run.run_id) if self.image else self.environment


_RECORD = TypeAdapter(StoredRun)


def write_record(stored: StoredRun) -> str:
    """Encode a run's record."""
    return _RECORD.dump_json(stored).decode()


def read_record(text: str) -> StoredRun:
    """Decode a run's record.

    Raises:
        ValidationError: The text is not a record.
    """
    return _RECORD.validate_json(text)
