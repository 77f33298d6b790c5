"""The table of instances, like `services/provisioner/store/instances`. Ended instances are kept separately, so
that a pass costs only live ones."""

from collections.abc import Iterator

from services.provisioner.core.instances.instance import Instance, IntentId
from shared.ids import InstanceId, WorkerId


class InstanceTable:
    """Instances by id, in the order in which they were requested."""

    def __init__(self) -> None:
        self.instances: dict[InstanceId, Instance] = {}
        self._live: dict[InstanceId, Instance] = {}
        self._of_worker: dict[WorkerId, InstanceId] = {}
        self._of_intent: dict[IntentId, list[InstanceId]] = {}

    @property
    def live(self) -> list[Instance]:
        return list(self._live.values())

    def save(self, one: Instance) -> None:
        """Store the instance."""
        if one.id not in self.instances:
            self._of_worker[one.worker] = one.id
            if one.intent is not None:
                self._of_intent.setdefault(one.intent, []).append(one.id)
        self.instances[one.id] = one
        if one.is_final:
            self._live.pop(one.id, None)
        else:
            self._live[one.id] = one

    def of_worker(self, worker: WorkerId) -> Instance | None:
        known = self._of_worker.get(worker)
        return None if known is None else self.instances[known]

    def of_intent(self, intent: IntentId) -> tuple[Instance, ...]:
        return tuple(self.instances[one] for one in self._of_intent.get(intent, ()))

    def live_workers(self) -> Iterator[WorkerId]:
        return (one.worker for one in self._live.values())
