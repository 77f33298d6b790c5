"""Validate a config for a submission or a plan, with the help of scheduler, searcher and registry."""

from collections.abc import Awaitable
from typing import TypeAlias, TypeVar

import structlog

from muster.archive import check_entrypoint
from muster.config import ExperimentConfig
from muster.errors import Rejected, Transient
from services.gateway.code import store as code_store
from services.gateway.platform.call_context import Call
from services.gateway.platform.schema import JsonObject
from shared.ids import PoolName, WorkerId
from shared.messages.experiments import ValidateConfig
from shared.messages.queue import ValidatePlacement
from shared.messages.trial_specs import UNCATEGORIZED

T = TypeVar("T")
Entrypoint: TypeAlias = str | tuple[str, ...]
_log = structlog.get_logger()


def one_source(config: JsonObject | None, config_yaml: str | None) -> str | JsonObject:
    """Return the config source that was given. Raises Rejected unless exactly one was."""
    if (config is None) == (config_yaml is None):
        raise Rejected(
            "invalid_request",
            "set exactly one of `config` (a JSON object) and `config_yaml` (text)",
            "config" if config is None else "config_yaml",
        )
    return config if config is not None else config_yaml or ""


def config_document(config: ExperimentConfig) -> JsonObject:
    """Return the config with its defaults as a JSON document."""
    return config.model_dump(mode="json", by_alias=True)


async def ask_placement(call: Call, config: ExperimentConfig, pool: PoolName) -> tuple[str, ...]:
    """Return the scheduler's warnings about the config's slots in a pool. Raises Rejected if the pool can never provide them."""
    resources = config.resources
    least, most = resources.slot_range
    question = ValidatePlacement(
        pool=pool,
        workspace=config.workspace or UNCATEGORIZED,
        min_slots=least,
        max_slots=most,
        kind=resources.slot_kind,
        single_node=resources.is_single_node,
        priority=resources.priority,
        required_labels=resources.required_labels,
        preferred_labels=resources.preferred_labels,
        excluded_workers=tuple(map(WorkerId, resources.excluded_workers)),
    )
    placed = await if_available(
        call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.validate_s)
    )
    return placed.warnings if placed else ()


async def ask_searcher(call: Call, document: JsonObject) -> tuple[str, ...]:
    """Return the searcher's warnings about a config. Raises Rejected if the search is invalid."""
    question = ValidateConfig(config=document)
    accepted = await if_available(
        call.dependencies.bus.ask(question, call.tenant, call.dependencies.timeouts.validate_s)
    )
    return accepted.warnings if accepted else ()


async def find_code(call: Call, sha256: str, entrypoint: Entrypoint) -> int | None:
    """Return the size in bytes of an uploaded code archive; None if the tenant has none with this hash.

    Raises:
        Rejected: The archive lacks the file that the entrypoint runs.
    """
    async with call.read() as connection:
        known = await code_store.load_code(connection, sha256)
    if known is None:
        return None
    if known.files is not None:
        check_entrypoint(entrypoint, frozenset(known.files))
    size_bytes: int = known.size_bytes
    return size_bytes


async def if_available(answer: Awaitable[T]) -> T | None:
    """Return the answer, or None if the service does not answer in time."""
    try:
        return await answer
    except Transient as error:
        _log.warning("a service did not answer the validation of a config", error=str(error))
        return None
