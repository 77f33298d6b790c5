"""How the gang of a run forms anew while its ranks live: told by the worker, agreed on by all at a step's end, then Horovod starts again."""

from typing import TYPE_CHECKING

from muster import wire
from muster._trial.gang.resize_connection import ResizeConnection
from muster._trial.process_environment import ProcessEnvironment, apply_variables

if TYPE_CHECKING:
    from muster._trial.gang.gang import RankGang

REFORM_TIMEOUT_S = 120.0
"""So long survivors of a broken gang wait for the scheduler's word, which needs a worker's lease and a plan."""


class GangReforming:
    """One rank's part in it.

    Attributes:
        is_due: All ranks have agreed that the gang forms anew before the next step.
    """

    def __init__(self, seat: ResizeConnection) -> None:
        self._seat = seat
        self.is_due = seat.generation == 0

    def has_news(self) -> bool:
        """Whether the worker has said how the gang is to form anew. It does not wait; rank 0 asks, the others follow."""
        return self._seat.poll() is not None

    def on_broken(self) -> None:
        """The gang that was is no more: this rank waits to be told of the next."""
        self._seat.stand_by()

    def join(self) -> "RankGang":
        """Leave the gang that was, and return the one that is; it waits until it is told, and for the others.

        Raises:
            SystemExit: There is no place for this rank any more: it ends well.
            Rejected: It was not told in time.
        """
        import horovod.torch as hvd

        from muster._trial.gang.gang import RankGang
        from muster._trial.gang.horovod_collectives import HorovodCollectives

        told = self._seat.wait(REFORM_TIMEOUT_S)
        if hvd.is_initialized():
            hvd.shutdown()
        if isinstance(told, wire.Leave):
            raise SystemExit(0)
        apply_variables(told.variables)
        gang = RankGang(HorovodCollectives())
        self._seat.take(told.generation)
        self.is_due = False
        return gang


def open_reforming(surroundings: ProcessEnvironment) -> GangReforming | None:
    """Let this run be resized while it trains; None where its size is fixed, it meets by anything but Horovod, or there is no platform."""
    if not surroundings.generation:
        return None
    description = wire.read_trial_file(surroundings.trial_path)
    if description.distributed != "horovod":
        return None
    # A connection of its own: only rank 0 has the others, and every rank must hear.
    generation = 0 if surroundings.stands_by else surroundings.generation
    return GangReforming(
        ResizeConnection(description.socket, surroundings.token, surroundings.local_rank, generation)
    )
