"""Checks whether a trial could ever get its slots; otherwise the simulation would wait forever."""

from muster.config.small_sections import Resources
from muster.errors import Rejected
from services.scheduler.core.state.records.labels import PlacementConstraint
from simulator.experiments.submission import where_asked
from simulator.files.schema import Cluster


def check_room(resources: Resources, cluster: Cluster) -> None:
    """Raises Rejected, naming the key."""
    where = where_asked(resources) or PlacementConstraint()
    sizes = [
        group.slots
        for group in cluster.machines
        if resources.slot_kind in (None, group.kind)
        for number in range(group.count)
        if where.admits(group.worker(number), group.labels_of(number))
    ]
    must_be_one = resources.is_single_node or not cluster.exclusive
    provider = cluster.provider
    # A provider's machines have no labels here.
    if provider is not None and resources.slot_kind in (None, provider.kind) and not where.required:
        sizes += [provider.slots] * (1 if must_be_one else provider.maximum)
    available = max(sizes, default=0) if must_be_one else sum(sizes)
    least, _ = resources.slot_range
    if least <= available:
        return
    slots = f"{least} slot{'' if least == 1 else 's'}"
    wanted = f"{slots} of kind {resources.slot_kind}" if resources.slot_kind else slots
    machines = f" {where}" if str(where) else ""
    on = f"on one machine{machines}" if must_be_one else f"on machines{machines}" if machines else "in total"
    raise Rejected(
        "slots_unsatisfiable",
        f"a trial needs {wanted}; the cluster can have at most {available} {on}",
        "resources.slots_per_trial" if sizes else "resources",
    )
