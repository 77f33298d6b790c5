"""Create and fork experiments: validate, commit, respond. Problems found later move the experiment to `rejected`."""

import asyncio
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import structlog

from muster.archive import check_entrypoint
from muster.config import ExperimentConfig
from muster.errors import Conflict, Rejected
from services.gateway.experiments.find import find_experiment
from services.gateway.experiments.operations.read import with_waiting_reason
from services.gateway.experiments.render import render_experiment_detail
from services.gateway.experiments.schema import (
    CreateExperimentRequest,
    ExperimentDetail,
    ForkExperimentRequest,
)
from services.gateway.experiments.submission import store
from services.gateway.experiments.submission.checks import (
    Entrypoint,
    ask_placement,
    ask_searcher,
    config_document,
    find_code,
    if_available,
    one_source,
)
from services.gateway.experiments.submission.config_resolution import ResolvedConfig, resolve_config
from services.gateway.experiments.submission.initial_weights import (
    resolve_initial_weights,
    without_initial_weights,
)
from services.gateway.experiments.workspace_names import refuse_similar_workspace
from services.gateway.platform.auth.grants import Scope
from services.gateway.platform.auth.permissions import Permission
from services.gateway.platform.call_context import Call
from services.gateway.platform.commands.idempotency import IdempotencyClaim, claim, claimed_by, remember
from services.gateway.platform.json_documents import merge_patch
from services.gateway.platform.schema import JsonObject
from services.gateway.quotas.checks import check_open
from services.gateway.user_secrets.find import check_secrets
from shared import telemetry
from shared.bus import Unit
from shared.ids import ExperimentId, PoolName, new_id
from shared.messages.experiments import SubmissionCommitted
from shared.messages.files import GetUploadUrl
from shared.messages.trial_specs import UNCATEGORIZED

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Submission:
    """A validated experiment before its commit."""

    config: ExperimentConfig
    document: JsonObject
    labels: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    config_yaml: str | None = None
    code_sha256: str | None = None
    forked_from: UUID | None = None


async def create_experiment(call: Call, request: CreateExperimentRequest) -> ExperimentDetail:
    """Create an experiment from a config and a code archive."""
    source = one_source(request.config, request.config_yaml)
    shaped = await resolve_config(call, source, request.name, request.template)
    text = None if shaped.has_secret else request.config_yaml
    submission = replace(_submission(shaped, request), config_yaml=text, code_sha256=request.code_sha256)
    return await _submit(call, request, submission)


async def fork_experiment(call: Call, request: ForkExperimentRequest) -> ExperimentDetail:
    """Create an experiment with the code of another one and a changed config."""
    origin = await find_experiment(call.as_reader(), request.experiment)
    document = without_initial_weights(origin.config, request.overrides)
    shaped = await resolve_config(call, merge_patch(document, request.overrides), request.name)
    submission = replace(_submission(shaped, request), code_sha256=origin.code_sha256, forked_from=origin.id)
    return await _submit(call, request, submission)


def _submission(
    shaped: ResolvedConfig, request: CreateExperimentRequest | ForkExperimentRequest
) -> _Submission:
    config = shaped.config
    labels = tuple(dict.fromkeys((*config.labels, *request.labels)))
    return _Submission(config, config_document(config), labels, shaped.warnings)


async def _submit(
    call: Call, request: CreateExperimentRequest | ForkExperimentRequest, submission: _Submission
) -> ExperimentDetail:
    config = submission.config
    place = Scope(config.workspace or UNCATEGORIZED, config.project or UNCATEGORIZED)
    call.check_scope(Permission.EXPERIMENT_WRITE, place)
    checked = await _check(call, submission)
    async with call.dependencies.create_slots.of(call.tenant), call.transaction() as unit:
        experiment_id = ExperimentId(new_id(call.dependencies.clock))
        claimed = await _begin(call, unit, request, experiment_id, place.workspace or UNCATEGORIZED)
        if isinstance(claimed, IdempotencyClaim):
            return with_waiting_reason(call, ExperimentDetail.model_validate(claimed.response))
        if not claimed.is_workspace_known:
            await refuse_similar_workspace(unit.connection, place.workspace or UNCATEGORIZED)
        await check_open(unit, claimed.max_experiments)
        number = claimed.number
        values = _values(call, unit, checked, experiment_id, number)
        answer = render_experiment_detail(SimpleNamespace(**values))
        await store.insert_experiment(unit.connection, values)
        await remember(call, unit.connection, answer)
        call.set_audit_fields(after=answer, entity=f"experiment/{number}")
        unit.emit(_committed(unit, checked, values))
    _log.info("an experiment was submitted", experiment=str(experiment_id), number=number)
    return with_waiting_reason(call, answer)


async def _begin(
    call: Call,
    unit: Unit,
    request: CreateExperimentRequest | ForkExperimentRequest,
    experiment_id: ExperimentId,
    workspace: str,
) -> store.NumberedSubmission | IdempotencyClaim:
    """Claim a number, or return the response to an earlier request with the same key. Raises Conflict if the workspace is being deleted."""
    claim_values = claimed_by(call, unit, request, experiment_id)
    claimed = await store.claim_number(unit.connection, call.tenant, workspace, claim_values)
    if claimed is None:
        earlier = await claim(call, unit, request, experiment_id)
        if earlier is not None:
            return earlier
        # The earlier request released the key in between; this request owns it now.
        claimed = await store.claim_number(unit.connection, call.tenant, workspace, None)
    if claimed is None or claimed.is_workspace_deleting:
        raise Conflict(
            "workspace_deleting",
            f"workspace {workspace} is being deleted",
            hint="choose another workspace, or try again once it is deleted",
        )
    return claimed


async def _check(call: Call, submission: _Submission) -> _Submission:
    """Validate with the scheduler, searcher and registry concurrently. A service that does not answer in time is skipped."""
    pool = PoolName(submission.config.resources.resource_pool or "default")
    placed, accepted, config, _, _ = await asyncio.gather(
        ask_placement(call, submission.config, pool),
        ask_searcher(call, submission.document),
        resolve_initial_weights(call, submission.config),
        _check_code(call, submission.code_sha256, submission.config.entrypoint),
        check_secrets(call, submission.config),
    )
    warnings = (*submission.warnings, *placed, *accepted)
    document = submission.document if config is submission.config else config_document(config)
    return replace(submission, config=config, document=document, warnings=warnings)


async def _check_code(call: Call, sha256: str | None, entrypoint: Entrypoint) -> None:
    if sha256 is None:
        check_entrypoint(entrypoint, ())
        return
    size_bytes = await find_code(call, sha256, entrypoint)
    if size_bytes is not None:
        question = GetUploadUrl(sha256=sha256, size_bytes=size_bytes)
        target = await if_available(
            call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.validate_s)
        )
        if target is None or target.known:
            return
    raise Rejected(
        "code_unknown",
        f"no code archive with SHA-256 {sha256} is stored",
        "code_sha256",
        f"upload it first: PUT /v1/code/{sha256}",
    )


def _values(
    call: Call, unit: Unit, submission: _Submission, experiment_id: ExperimentId, number: int
) -> dict[str, Any]:
    config = submission.config
    name = config.name or f"experiment {number}"
    return {
        "tenant": call.tenant,
        "id": experiment_id,
        "number": number,
        "name": name,
        "description": config.description or None,
        "workspace": config.workspace or UNCATEGORIZED,
        "project": config.project or UNCATEGORIZED,
        "labels": list(submission.labels),
        "owner": call.caller.name,
        "searcher": config.searcher.name,
        "metric": config.searcher.metric,
        "smaller_is_better": config.searcher.smaller_is_better,
        "config": submission.document,
        "config_yaml": submission.config_yaml,
        "code_sha256": submission.code_sha256,
        "forked_from": submission.forked_from,
        "trace_id": telemetry.trace_id(),
        "warnings": list(submission.warnings),
        "created_at": unit.now,
        "version": 0,
        "state": "submitted",
        "reason": None,
        "progress": 0.0,
        "best": None,
        "trials": {},
        "priority": config.resources.priority,
        "archived": False,
        "final": False,
        "started_at": None,
        "ended_at": None,
        "search_changes": None,
        "budget": None,
        "queue_policy": None,
        "queue_policy_version": 0,
        "deleting": False,
        "killed": False,
    }


def _committed(unit: Unit, submission: _Submission, values: dict[str, Any]) -> SubmissionCommitted:
    return SubmissionCommitted(
        experiment_id=values["id"],
        number=values["number"],
        name=values["name"],
        workspace=values["workspace"],
        project=values["project"],
        labels=submission.labels,
        owner=values["owner"],
        config=submission.document,
        code_hash=submission.code_sha256,
        forked_from=ExperimentId(submission.forked_from) if submission.forked_from else None,
        submitted_at=unit.now,
    )
