"""Resolve the initial weights of an experiment before its commit, so that they do not change when aliases move."""

from uuid import UUID

from muster.config import ExperimentConfig
from muster.errors import NotFound, Rejected
from services.gateway.checkpoints.find import check_visible
from services.gateway.experiments.submission.checks import if_available
from services.gateway.models.find import model_in, version_in
from services.gateway.platform.call_context import Call
from services.gateway.platform.schema import JsonObject
from shared.ids import CheckpointId
from shared.messages.checkpoints import ListCheckpoints

_CHECKPOINT = "searcher.source_checkpoint_uuid"
_MODEL = "searcher.source_model"


async def resolve_initial_weights(call: Call, config: ExperimentConfig) -> ExperimentConfig:
    """Return the config with `source_model` pinned to a version number, and with that version's checkpoint.

    Raises:
        Rejected: The model, version or checkpoint does not exist or is not saved, or the config also names a different checkpoint.
    """
    searcher, place = config.searcher, _CHECKPOINT
    given = UUID(searcher.source_checkpoint_uuid) if searcher.source_checkpoint_uuid else None
    checkpoint = given
    if searcher.source_model is not None:
        place = _MODEL
        name, checkpoint = await _find_version(call, searcher.source_model)
        if given not in (None, checkpoint):
            raise Rejected(
                "start_ambiguous",
                f"model version {name} is checkpoint {checkpoint}, not {given}",
                _CHECKPOINT,
                "set either `source_model` or `source_checkpoint_uuid`",
            )
        found = {"source_model": name, "source_checkpoint_uuid": str(checkpoint)}
        config = config.model_copy(update={"searcher": searcher.model_copy(update=found)})
    if checkpoint is not None:
        await _check_stored(call, checkpoint, place)
    return config


def without_initial_weights(document: JsonObject, overrides: JsonObject) -> JsonObject:
    """Return the config of the origin without its initial weights if the fork's overrides name others."""
    searcher, changed = document.get("searcher"), overrides.get("searcher")
    keys = ("source_model", "source_checkpoint_uuid")
    if not isinstance(searcher, dict) or not isinstance(changed, dict) or not set(keys) & set(changed):
        return document
    return document | {"searcher": {key: value for key, value in searcher.items() if key not in keys}}


async def _find_version(call: Call, reference: str) -> tuple[str, UUID]:
    """Return the version as `name@number`, and its checkpoint. Without a version, use the newest."""
    name, _, version = reference.partition("@")
    try:
        async with call.as_reader().read() as connection:
            model = await model_in(connection, name)
            row = await version_in(connection, model, version or "latest")
    except NotFound as error:
        raise Rejected("model_unknown", error.message, _MODEL, error.hint) from error
    return f"{model.name}@{row.number}", UUID(row.last_event["checkpoint_id"])


async def _check_stored(call: Call, checkpoint: UUID, place: str) -> None:
    question = ListCheckpoints(checkpoint_id=CheckpointId(checkpoint), limit=1)
    if place == _CHECKPOINT:  # Permission to see a model version includes its checkpoint.
        try:
            await check_visible(call.as_reader(), checkpoint)
        except NotFound:
            raise Rejected("checkpoint_unknown", f"there is no checkpoint {checkpoint}", place) from None
    page = await if_available(
        call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.validate_s)
    )
    if page is None:
        return
    if not page.checkpoints:
        raise Rejected("checkpoint_unknown", f"there is no checkpoint {checkpoint}", place)
    state = page.checkpoints[0].state
    if state != "saved":
        raise Rejected(
            "checkpoint_not_saved",
            f"checkpoint {checkpoint} is {state}; only saved checkpoints can provide initial weights",
            place,
        )
