"""Cost estimates: check an experiment as a submission would be checked, then ask the simulator."""

import asyncio

from muster.archive import check_entrypoint
from muster.config import ExperimentConfig
from services.gateway.experiment_plans.schema import Plan, PlanExperimentRequest
from services.gateway.experiments.submission.checks import (
    ask_placement,
    ask_searcher,
    config_document,
    find_code,
    one_source,
)
from services.gateway.experiments.submission.config_resolution import resolve_config
from services.gateway.platform.audit.records import Audited
from services.gateway.platform.call_context import Call
from services.gateway.platform.operation import Operation
from services.gateway.platform.operation_aliases import NATURAL, READ_EXPERIMENT
from shared.ids import PoolName
from shared.messages.plans import PlanExperiment


async def plan_experiment(call: Call, request: PlanExperimentRequest) -> Plan:
    """Estimate what an experiment would cost and when it would end, without submitting it."""
    source = one_source(request.config, request.config_yaml)
    shaped = await resolve_config(call, source, template=request.template)
    config = shaped.config
    document = config_document(config)
    await _check_code(call, config, request)
    pool = PoolName(request.pool or config.resources.resource_pool or "default")
    await asyncio.gather(ask_searcher(call, document), _check_pool(call, config, request, pool))
    question = PlanExperiment(
        config=document,
        code_hash=request.code_sha256,
        pool=pool,
        cluster=request.cluster,
        whole=request.whole,
        steps=request.steps,
        step_s=request.step_s,
        price_per_slot_hour=request.price_per_slot_hour,
        futures=request.futures,
    )
    found = await call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.plan_s)
    return Plan.model_validate({**found.model_dump(), "warnings": shaped.warnings})


async def _check_code(call: Call, config: ExperimentConfig, request: PlanExperimentRequest) -> None:
    """Raise Rejected if a submission of this code would be rejected."""
    if not request.check_code:
        return
    if request.code_files or request.code_sha256 is None:
        check_entrypoint(config.entrypoint, frozenset(request.code_files))
    else:
        await find_code(call, request.code_sha256, config.entrypoint)


async def _check_pool(
    call: Call, config: ExperimentConfig, request: PlanExperimentRequest, pool: PoolName
) -> None:
    if request.cluster is None:
        await ask_placement(call, config, pool)


# fmt: off
OPERATIONS: tuple[Operation, ...] = (  # type: ignore[type-arg]
    Operation("PlanExperiment", "POST", "/v1/plans", PlanExperimentRequest, Plan, READ_EXPERIMENT, NATURAL, plan_experiment, audited=Audited.NEVER, waits=True),
)
# fmt: on
