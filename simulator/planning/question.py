"""What a player is asked and what it answers, one JSON document a line."""

from pydantic import JsonValue

from shared.messages.base import Record
from shared.messages.plans import EarlierRun, OutlookRequest, PriorObservationsReply
from simulator.files.schema import Cluster, Policy

OWN_TENANT, OWN_WORKSPACE = 0, 0
"""Numbers of the asker's, as in an outlook."""


class Question(Record):
    """What is to be foretold, with all that is known.

    Attributes:
        crowd: Who holds slots of the cluster, and who waits for some.
        earlier: Runs of the same code.
        start: What the search knows of the experiments that its warm start names.
        steps: Of one trial, in the units of the search's time; `step_s`: what one takes. None: as earlier runs show, or the search says.
    """

    config: dict[str, JsonValue]
    cluster: Cluster
    policy: Policy = Policy()
    crowd: tuple[OutlookRequest, ...] = ()
    earlier: tuple[EarlierRun, ...] = ()
    start: PriorObservationsReply = PriorObservationsReply()
    steps: int | None = None
    step_s: float | None = None
    futures: int = 20


class Basics(Record):
    """What a player says first: what it goes by. `slots`: of one trial."""

    slots: float
    unit: str
    earlier_runs: int
    earlier_experiments: int
    step_s: float | None = None
    notes: tuple[str, ...] = ()


class Future(Record):
    """One future. `reached`: how many trials came as far as each rung."""

    trials: int
    stopped: int
    steps: int
    slot_hours: float
    waits_s: float
    took_s: float
    reached: dict[float, int] = {}


class Refused(Record):
    """The question has no answer: the problem of an error of the tree."""

    problem: dict[str, JsonValue]


class AnswerLine(Record):
    """One line of a player's answer: exactly one of these."""

    basics: Basics | None = None
    future: Future | None = None
    refused: Refused | None = None


def tenant_name(tenant: int) -> str:
    """Of the tenant of that number in an outlook; `workspace_name` likewise."""
    return f"tenant {tenant}"


def workspace_name(workspace: int) -> str:
    return f"workspace {workspace}"
