"""The invariant of labels and exclusions."""

from services.scheduler.core.state.cluster import Cluster
from services.scheduler.core.state.published_events import Granted
from services.scheduler.core.state.unsaved import Unsaved
from simulator.observers.invariant import Invariant


class WhereWanted(Invariant):
    """No run is granted on a machine that lacks a required label or is excluded."""

    rule = "labels respected"

    def on_commit(self, cluster: Cluster, changes: Unsaved) -> None:
        for fact in changes.facts:
            where = fact.trial.request.needs.where if isinstance(fact, Granted) else None
            if where is None or not isinstance(fact, Granted):
                continue
            for share in fact.run.shares:
                if not where.admits(share.worker, cluster.workers[share.worker].labels):
                    raise self.broken(
                        f"run {fact.run.id} is on {share.worker}, but its machines must be {where}"
                    )
