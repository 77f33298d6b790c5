"""What an experiment would cost, asked before it is submitted."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.experiments.schema import MAX_CONFIG_CHARS
from services.gateway.platform.schema import JsonObject, Name, Request, Resource, Sha256
from services.gateway.pools.schema import PoolName

MOST_CODE_FILES = 1000
"""So many of the longest paths are in a body of the size that is taken."""
CodePath = Annotated[str, Field(min_length=1, max_length=1024)]


class PlanBasis(StrEnum):
    """From what learning curves and times come."""

    EARLIER_TRIALS = "earlier_trials"
    STATED_MODEL = "stated_model"


class PlanRange(Resource):
    """In eight of ten futures between `low` and `high`; `middle` is the median."""

    low: float
    middle: float
    high: float


class PlanRung(Resource):
    """How many trials come as far as a rung of the search."""

    at: float = Field(description="In the units of the search's time.")
    trials: PlanRange


class Plan(Resource):
    """What an experiment would come to, by playing its search in several futures. Nothing was submitted."""

    on: str = Field(description="The machines, in words.")
    basis: PlanBasis
    earlier_runs: int = Field(default=0, description="Of how many runs of the same code the answer is made.")
    earlier_experiments: int = 0
    others_running: int = Field(default=0, description="Requests that have slots of the pool now.")
    others_waiting: int = Field(default=0, description="Requests that wait for slots of the pool now.")
    futures: int = Field(description="How often the search was played.")
    unit: str = Field(description="What a step is: the search's time metric, or `step`.")
    trials: PlanRange
    stopped: PlanRange = Field(description="Of the trials: ended by the search before their time.")
    rungs: list[PlanRung] = Field(default=[], description="Empty where the method has none.")
    steps: PlanRange = Field(description="Trained in all.")
    slots: float = Field(description="Of one trial.")
    step_s: float | None = Field(
        default=None,
        description="What a step takes; none: not known, and times, slot-hours and cost are left out.",
    )
    slot_hours: PlanRange | None = None
    waits_s: PlanRange | None = Field(default=None, description="Until the first trial has its slots.")
    took_s: PlanRange | None = Field(default=None, description="From the submission to the end.")
    price_per_slot_hour: float | None = None
    cost: PlanRange | None = None
    notes: list[str] = Field(default=[], description="What the answer takes for granted.")
    warnings: list[str] = Field(default=[], description="What a submission would be warned of.")


class PlanExperimentRequest(Request):
    """Exactly one of `config` and `config_yaml`. The code need not be stored: earlier trials are found by its hash."""

    config: JsonObject | None = Field(default=None, description="The config as a JSON object.")
    config_yaml: Annotated[str | None, Field(max_length=MAX_CONFIG_CHARS)] = None
    code_sha256: Sha256 | None = Field(
        default=None,
        description="Earlier trials of this code show how its trials learn and how long they take.",
    )
    check_code: bool = Field(
        default=False,
        description="Refuse the plan, as the submission would be, where the code lacks what the entrypoint runs.",
    )
    code_files: Annotated[list[CodePath], Field(max_length=MOST_CODE_FILES)] = Field(
        default=[],
        description="With `check_code`: paths of the files of code that is not stored yet. Without any the stored code"
        " of `code_sha256` is checked, and without that there is no code.",
    )
    pool: PoolName | None = Field(default=None, description="By default the config's.")
    template: Name | None = Field(default=None, description="Of a template: the config is laid over it.")
    cluster: JsonObject | None = Field(
        default=None, description="Machines to plan for instead of a pool, as `muster simulate` takes them."
    )
    whole: bool = Field(default=False, description="As if nothing else ran in the pool.")
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        default=None, description="How long a trial trains; by default the searcher's `max_time`."
    )
    step_s: Annotated[float, Field(ge=0.001, le=1e9)] | None = Field(
        default=None, description="What a step takes with a trial's slots; by default as earlier trials show."
    )
    price_per_slot_hour: Annotated[float, Field(ge=0, le=1e9)] | None = Field(
        default=None, description="By default as the pool's machines cost."
    )
    futures: Annotated[int, Field(ge=1, le=200)] = Field(
        default=20, description="How often the search is played, if there is time."
    )
