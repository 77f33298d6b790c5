"""When a trial's script is told that a checkpoint is due: `checkpoint_policy` and `min_checkpoint_period`."""

from typing import Literal

from pydantic import Field

from muster.config.section import Section

CheckpointPolicy = Literal["best", "all", "none"]


class CheckpointPeriod(Section):
    """How far a trial may train without a checkpoint.

    Attributes:
        batches: Steps, as the script numbers them.
    """

    batches: int = Field(ge=1, le=2**53)
