"""A config as it will be: what was sent, over its template, under the policies of its workspace (decision 0138)."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from muster.config import ExperimentConfig, merge_configs
from muster.config.load import load_document, read_document
from muster.config.yaml_reader import Document, Path, dotted
from muster.errors import Rejected
from services.gateway.platform.call import Call
from services.gateway.platform.schema import JsonObject
from services.gateway.policies import store
from services.gateway.policies.core import PolicyRules, apply_policies
from shared.messages.specs import UNCATEGORIZED

T = TypeVar("T")
_INLINE_CHARS = 16 * 1024


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A config that may be submitted, and what its author should know of it."""

    config: ExperimentConfig
    warnings: tuple[str, ...] = ()
    has_secret: bool = False
    """Whether what was sent is not to be kept as it was (`muster.config.LoadedConfig`)."""


async def resolve_config(
    call: Call, source: str | JsonObject, name: str | None = None, template: str | None = None
) -> ResolvedConfig:
    """Reads a config, completes it from its template and sets what policies say.

    Raises:
        Rejected: It is wrong, names no template that the caller sees, or asks for more than a policy allows; `place` says where.
    """
    document = await _off_loop(source, lambda: load_document(source))
    if template is not None:
        _lay_under(document, await _config_of(call, template), f"from template '{template}'")
    policies = await load_policies(call, document.root.get("workspace"))
    warnings = [warning for policy in policies for warning in _set_invariant(document, policy)]
    read = await _off_loop(source, lambda: read_document(document))
    config = apply_policies(policies, read.config)
    named = config.model_copy(update={"name": name}) if name is not None else config
    return ResolvedConfig(named, (*warnings, *read.warnings), read.has_secret)


async def load_policies(call: Call, workspace: JsonValue) -> tuple[PolicyRules, ...]:
    """Those that hold for an experiment of the workspace, the tenant's last."""
    async with call.read() as connection:
        return await store.load_binding_policies(connection, str(workspace or UNCATEGORIZED))


async def _off_loop(source: str | JsonObject, work: Callable[[], T]) -> T:
    """Does in a thread what would hold up the loop."""
    if isinstance(source, str) and len(source) > _INLINE_CHARS:
        return await asyncio.to_thread(work)
    return work()


async def _config_of(call: Call, template: str) -> JsonObject:
    async with call.as_reader().read() as connection:
        found = await store.find_template(connection, template)
    if found is None:
        raise Rejected(
            "template_unknown",
            f"there is no template '{template}'",
            "template",
            "`muster template list` shows those that you see",
        )
    config: JsonObject = found.config
    return config


def _lay_under(document: Document, config: JsonObject, where: str) -> None:
    for path, _ in _leaves(config):
        if _at(document.root, path) is None:
            document.places[path] = where
    document.root = merge_configs(document.root, config)


def _set_invariant(document: Document, policy: PolicyRules) -> Iterator[str]:
    """Lays the policy over the document; tells what of the author's it has taken the place of."""
    before, invariant = document.root, policy.invariant_config
    document.root = merge_configs(invariant, before)
    for path, value in _leaves(invariant):
        document.places[path] = f"set by {policy}"
        asked, now = _at(before, path), _at(document.root, path)
        if asked is not None and now == value and now != asked:
            yield f"{dotted(path)} is {value}, set by {policy}: what you asked for, {asked}, is left out"


def _leaves(values: Mapping[str, JsonValue], above: Path = ()) -> Iterator[tuple[Path, JsonValue]]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _at(values: JsonValue, path: Path) -> JsonValue:
    for key in path:
        if not isinstance(values, dict):
            return None
        values = values.get(str(key))
    return values
