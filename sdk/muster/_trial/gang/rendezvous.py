"""How this process finds the others of its gang: by Horovod, by PyTorch, or not at all."""

from typing import TYPE_CHECKING

from muster._trial.process_environment import ProcessEnvironment

if TYPE_CHECKING:
    from muster._trial.gang.gang import RankGang


def join_gang(distributed: str, size: int, surroundings: ProcessEnvironment) -> "RankGang | None":
    """Meet the other ranks; None where this process trains by itself.

    With `torch`, and where a launcher of the user's own (`torchrun`) has started this process, they meet by `torch.distributed`.

    Args:
        distributed: As in the config.
        size: How many processes the worker started.
        surroundings: What a launcher says of its own.

    Raises:
        Rejected: Horovod is needed and missing.
    """
    launched = surroundings.launched
    if distributed == "horovod" and size > 1:
        from muster._trial.gang.gang import RankGang
        from muster._trial.gang.horovod_collectives import HorovodCollectives

        return RankGang(HorovodCollectives())
    if distributed != "horovod" and launched is not None and launched.size > 1:
        from muster._trial.gang.gang import RankGang
        from muster._trial.gang.torch_collectives import TorchCollectives

        return RankGang(TorchCollectives(launched))
    return None
