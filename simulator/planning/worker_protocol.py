"""The question and the answer of a simulation process, one JSON document per line."""

from pydantic import JsonValue

from shared.messages.base import Record
from shared.messages.plans import EarlierRun, OutlookRequest, PriorObservationsReply
from simulator.files.schema import Cluster, Policy

OWN_TENANT, OWN_WORKSPACE = 0, 0
"""The caller's numbers, as in an outlook."""


class Question(Record):
    """A plan request with all inputs.

    Attributes:
        background_jobs: Running and waiting requests on the cluster.
        earlier: Runs of the same code.
        start: Prior observations from the experiments in the search's `warm_start`.
        steps: Of one trial, in units of the search's time. `step_s`: step time. None: from earlier runs, or
            from the search.
    """

    config: dict[str, JsonValue]
    cluster: Cluster
    policy: Policy = Policy()
    background_jobs: tuple[OutlookRequest, ...] = ()
    earlier: tuple[EarlierRun, ...] = ()
    start: PriorObservationsReply = PriorObservationsReply()
    steps: int | None = None
    step_s: float | None = None
    futures: int = 20


class Basics(Record):
    """The first line of an answer: its inputs. `slots`: of one trial."""

    slots: float
    unit: str
    earlier_runs: int
    earlier_experiments: int
    step_s: float | None = None
    notes: tuple[str, ...] = ()


class Future(Record):
    """One future. `reached`: how many trials reached each rung."""

    trials: int
    stopped: int
    steps: int
    slot_hours: float
    waits_s: float
    took_s: float
    reached: dict[float, int] = {}


class Refused(Record):
    """The question has no answer; `problem` describes the error."""

    problem: dict[str, JsonValue]


class AnswerLine(Record):
    """One line of an answer: exactly one of the fields."""

    basics: Basics | None = None
    future: Future | None = None
    refused: Refused | None = None


def tenant_name(tenant: int) -> str:
    """Return the name of a tenant with this number in an outlook."""
    return f"tenant {tenant}"


def workspace_name(workspace: int) -> str:
    return f"workspace {workspace}"
