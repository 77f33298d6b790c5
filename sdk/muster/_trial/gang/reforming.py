"""Re-forming of a gang while its ranks live: announced by the worker, agreed by all ranks at the end of a step, then Horovod restarts."""

from typing import TYPE_CHECKING

from muster import wire
from muster._trial.gang.resize_connection import ResizeConnection
from muster._trial.process_environment import ProcessEnvironment, apply_variables

if TYPE_CHECKING:
    from muster._trial.gang.gang import RankGang

REFORM_TIMEOUT_S = 120.0
"""Seconds that the survivors of a broken gang wait for a new generation: a worker's lease must expire, and the scheduler must plan."""


class GangReforming:
    """Re-forming of the gang, as seen by one rank.

    Attributes:
        is_due: All ranks have agreed to re-form the gang before the next step.
    """

    def __init__(self, seat: ResizeConnection) -> None:
        self._seat = seat
        self.is_due = seat.generation == 0

    def has_new_generation(self) -> bool:
        """Whether the worker has announced a new generation. Does not wait; rank 0 asks, the other ranks follow."""
        return self._seat.poll() is not None

    def on_broken(self) -> None:
        """Mark this rank as waiting for the next generation after the gang broke."""
        self._seat.stand_by()

    def join(self) -> "RankGang":
        """Leave the old gang and return the new one; waits for the worker's announcement and for the other ranks.

        Raises:
            SystemExit: This rank is not part of the new gang; it ends successfully.
            Rejected: The worker did not announce a generation in time.
        """
        import horovod.torch as hvd

        from muster._trial.gang.gang import RankGang
        from muster._trial.gang.horovod_collectives import HorovodCollectives

        announcement = self._seat.wait(REFORM_TIMEOUT_S)
        if hvd.is_initialized():
            hvd.shutdown()
        if isinstance(announcement, wire.Leave):
            raise SystemExit(0)
        apply_variables(announcement.variables)
        gang = RankGang(HorovodCollectives())
        self._seat.take(announcement.generation)
        self.is_due = False
        return gang


def open_reforming(environment: ProcessEnvironment) -> GangReforming | None:
    """Make this run resizable while it trains; None if its size is fixed, it does not use Horovod, or there is no platform."""
    if not environment.generation:
        return None
    description = wire.read_trial_file(environment.trial_path)
    if description.distributed != "horovod":
        return None
    # Every rank needs its own connection; only rank 0 has a report channel.
    generation = 0 if environment.size_to_join else environment.generation
    return GangReforming(
        ResizeConnection(description.socket, environment.token, environment.local_rank, generation)
    )
