"""User secrets: a worker asks the gateway for the value of a secret that its run references."""

from pydantic import BaseModel

from shared.ids import RunId
from shared.messages.base import WorkerRequest


class SealedSecret(BaseModel):
    """A secret's value (UTF-8), sealed for the key that the worker joined with (`shared.auth.sealed_box`)."""

    sealed: str


class GetRunSecret(WorkerRequest[SealedSecret], owner="gateway", kind="secret"):
    """worker → gateway: the value of a secret of the workspace of the run's experiment.

    Rejected as `secret_missing` if it does not exist, and as `secret_forbidden` unless the experiment's config references it and the
    worker is a member of the run, which has not ended.
    """

    run_id: RunId
    name: str
