"""Request and response for the cost estimate of an experiment."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from services.gateway.experiments.schema import MAX_CONFIG_CHARS
from services.gateway.platform.schema import JsonObject, Name, Request, Resource, Sha256
from services.gateway.pools.schema import PoolName

MOST_CODE_FILES = 1000
"""Paths of maximum length that fit into the largest body accepted."""
CodePath = Annotated[str, Field(min_length=1, max_length=1024)]


class PlanBasis(StrEnum):
    """Source of learning curves and step times: earlier trials of the same code, or the stated model."""

    EARLIER_TRIALS = "earlier_trials"
    STATED_MODEL = "stated_model"


class PlanRange(Resource):
    """The 80% interval (`low` to `high`) and the median (`middle`) over all simulations."""

    low: float
    middle: float
    high: float


class PlanRung(Resource):
    """How many trials reach a rung of the search."""

    at: float = Field(description="Position of the rung, in units of the search's time metric.")
    trials: PlanRange


class Plan(Resource):
    """The estimated cost and duration of an experiment, from several simulations of its search. Nothing is submitted."""

    on: str = Field(description="Description of the machines.")
    basis: PlanBasis
    earlier_runs: int = Field(
        default=0, description="Number of runs of the same code that the estimate uses."
    )
    earlier_experiments: int = 0
    others_running: int = Field(default=0, description="Requests that hold slots of the pool now.")
    others_waiting: int = Field(default=0, description="Requests that wait for slots of the pool now.")
    futures: int = Field(description="Number of simulations that ran.")
    unit: str = Field(description="Unit of steps: the search's time metric, or `step`.")
    trials: PlanRange
    stopped: PlanRange = Field(description="Number of trials that the search stops early.")
    rungs: list[PlanRung] = Field(default=[], description="Empty for search methods without rungs.")
    steps: PlanRange = Field(description="Steps that all trials train together.")
    slots: float = Field(description="Slots of one trial.")
    step_s: float | None = Field(
        default=None,
        description="Seconds per step. Null: unknown; times, slot-hours and cost are omitted.",
    )
    slot_hours: PlanRange | None = None
    waits_s: PlanRange | None = Field(
        default=None, description="Seconds until the first trial gets its slots."
    )
    took_s: PlanRange | None = Field(default=None, description="Seconds from the submission to the end.")
    price_per_slot_hour: float | None = None
    cost: PlanRange | None = None
    notes: list[str] = Field(default=[], description="Assumptions of the estimate.")
    warnings: list[str] = Field(default=[], description="Warnings that a submission would return.")


class PlanExperimentRequest(Request):
    """Exactly one of `config` and `config_yaml`. The code need not be uploaded: its hash finds earlier trials."""

    config: JsonObject | None = Field(default=None, description="The config as a JSON object.")
    config_yaml: Annotated[str | None, Field(max_length=MAX_CONFIG_CHARS)] = None
    code_sha256: Sha256 | None = Field(
        default=None,
        description="Use learning curves and step times of earlier trials with this code.",
    )
    check_code: bool = Field(
        default=False,
        description="Reject the request if the code lacks the file that the entrypoint runs, as a submission would.",
    )
    code_files: Annotated[list[CodePath], Field(max_length=MOST_CODE_FILES)] = Field(
        default=[],
        description="With `check_code`: file paths of code that is not uploaded yet. If empty, the uploaded code of"
        " `code_sha256` is checked; without `code_sha256` there is no code.",
    )
    pool: PoolName | None = Field(default=None, description="Default: the pool that the config names.")
    template: Name | None = Field(default=None, description="Template that the config is merged over.")
    cluster: JsonObject | None = Field(
        default=None,
        description="Machines to plan for instead of a pool, in the format of `muster simulate`.",
    )
    whole: bool = Field(default=False, description="Assume that nothing else runs in the pool.")
    steps: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        default=None, description="Steps that a trial trains. Default: the searcher's `max_time`."
    )
    step_s: Annotated[float, Field(ge=0.001, le=1e9)] | None = Field(
        default=None,
        description="Seconds per step with a trial's slots. Default: measured on earlier trials.",
    )
    price_per_slot_hour: Annotated[float, Field(ge=0, le=1e9)] | None = Field(
        default=None, description="Default: the price of the pool's machines."
    )
    futures: Annotated[int, Field(ge=1, le=200)] = Field(
        default=20, description="Number of simulations; fewer run if the time limit is reached."
    )
