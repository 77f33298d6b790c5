"""Connects this process to the other ranks of its gang: by Horovod, by torch.distributed, or not at all."""

from typing import TYPE_CHECKING

from muster._trial.process_environment import ProcessEnvironment

if TYPE_CHECKING:
    from muster._trial.gang.gang import RankGang


def join_gang(distributed: str, size: int, environment: ProcessEnvironment) -> "RankGang | None":
    """Connect to the other ranks; None if this process trains alone.

    Ranks connect by `torch.distributed` with `distributed: torch`, and when a launcher of the user (`torchrun`) started them.

    Args:
        distributed: Value of the config.
        size: Number of processes that the worker started.
        environment: Environment of this process, including the launcher's variables.

    Raises:
        Rejected: Horovod is required and not installed.
    """
    launched = environment.launched
    if distributed == "horovod" and size > 1:
        from muster._trial.gang.gang import RankGang
        from muster._trial.gang.horovod_collectives import HorovodCollectives

        return RankGang(HorovodCollectives())
    if distributed != "horovod" and launched is not None and launched.size > 1:
        from muster._trial.gang.gang import RankGang
        from muster._trial.gang.torch_collectives import TorchCollectives

        return RankGang(TorchCollectives(launched))
    return None
