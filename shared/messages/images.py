"""Images of containers: the digest that all runs of an experiment use."""

from pydantic import BaseModel, Field

from shared.ids import RunId
from shared.messages.base import WorkerRequest
from shared.messages.phases import IMAGE_CHARACTERS


class PinnedImage(BaseModel):
    """`digest` None: no run of the experiment has resolved the name yet."""

    digest: str | None = None


class PinImage(WorkerRequest[PinnedImage], owner="registry", kind="image"):
    """worker → registry: return the digest of an image for the runs of an experiment. Idempotent.

    The first `resolved` that a run of the experiment sends is stored; all later requests get it, whatever they resolved.
    """

    run_id: RunId
    image: str = Field(max_length=IMAGE_CHARACTERS)
    resolved: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
