"""A config that somebody wants to submit, or to plan for: read, and checked with the owners of what only they know."""

from collections.abc import Awaitable
from typing import TypeAlias, TypeVar

import structlog

from muster.archive import check_entrypoint
from muster.config import ExperimentConfig
from muster.errors import Rejected, Transient
from services.gateway.code import store as code_store
from services.gateway.platform.call import Call
from services.gateway.platform.schema import JsonObject
from shared.ids import PoolName, WorkerId
from shared.messages.experiments import ValidateConfig
from shared.messages.queue import ValidatePlacement
from shared.messages.specs import UNCATEGORIZED

T = TypeVar("T")
Entrypoint: TypeAlias = str | tuple[str, ...]
_log = structlog.get_logger()


def one_source(config: JsonObject | None, config_yaml: str | None) -> str | JsonObject:
    """The one of both that was given. Raises Rejected."""
    if (config is None) == (config_yaml is None):
        raise Rejected(
            "invalid_request",
            "exactly one of `config` (a JSON object) and `config_yaml` (text) is needed",
            "config" if config is None else "config_yaml",
        )
    return config if config is not None else config_yaml or ""


def config_document(config: ExperimentConfig) -> JsonObject:
    """The config with its defaults, as it is stored and told."""
    return config.model_dump(mode="json", by_alias=True)


async def ask_placement(call: Call, config: ExperimentConfig, pool: PoolName) -> tuple[str, ...]:
    """What the scheduler says of the config's slots in a pool: warnings. Raises Rejected where they could never be had."""
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
    placed = await if_available(call.doors.bus.ask(question, call.tenant, call.doors.timeouts.validate_s))
    return placed.warnings if placed else ()


async def ask_searcher(call: Call, document: JsonObject) -> tuple[str, ...]:
    """What the searcher says of a config: warnings. Raises Rejected where it has no such search."""
    question = ValidateConfig(config=document)
    accepted = await if_available(call.doors.bus.ask(question, call.tenant, call.doors.timeouts.validate_s))
    return accepted.warnings if accepted else ()


async def find_code(call: Call, sha256: str, entrypoint: Entrypoint) -> int | None:
    """Return the size in bytes of code that the tenant has put; None where it has put none of this hash.

    Raises:
        Rejected: It does not hold what the entrypoint runs.
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
    """None where the owner does not answer: it is not waited for."""
    try:
        return await answer
    except Transient as error:
        _log.warning("an owner could not be asked about a config", error=str(error))
        return None
