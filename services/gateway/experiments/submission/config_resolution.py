"""Build the effective config: the submitted one over its template, under the policies of its workspace (decision 0138)."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import JsonValue

from muster.config import ExperimentConfig, merge_configs
from muster.config.load import load_document, read_document
from muster.config.yaml_reader import Document, Path, dotted
from muster.errors import Rejected
from services.gateway.platform.call_context import Call
from services.gateway.platform.schema import JsonObject
from services.gateway.policies import store
from services.gateway.policies.core import PolicyRules, apply_policies
from shared.messages.trial_specs import UNCATEGORIZED

T = TypeVar("T")
_INLINE_CHARS = 16 * 1024


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """The effective config, and warnings for its author."""

    config: ExperimentConfig
    warnings: tuple[str, ...] = ()
    has_secret: bool = False
    """True if the submitted text contains a secret and must not be stored (`muster.config.LoadedConfig`)."""


async def resolve_config(
    call: Call, source: str | JsonObject, name: str | None = None, template: str | None = None
) -> ResolvedConfig:
    """Read a config, merge its template, and apply policies.

    Raises:
        Rejected: The config is invalid, the template is unknown, or a policy does not allow a value; `place` names the key.
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
    """Return the policies of a workspace, followed by the tenant's."""
    async with call.read() as connection:
        return await store.load_binding_policies(connection, str(workspace or UNCATEGORIZED))


async def _off_loop(source: str | JsonObject, work: Callable[[], T]) -> T:
    """Parse large sources in a thread, so that the event loop is not blocked."""
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
            "`muster template list` shows the templates that you can see",
        )
    config: JsonObject = found.config
    return config


def _lay_under(document: Document, config: JsonObject, where: str) -> None:
    for path, _ in _leaves(config):
        if _at(document.root, path) is None:
            document.positions[path] = where
    document.root = merge_configs(document.root, config)


def _set_invariant(document: Document, policy: PolicyRules) -> Iterator[str]:
    """Apply the policy's invariant config to the document; yield a warning for each submitted value that it overrides."""
    before, invariant = document.root, policy.invariant_config
    document.root = merge_configs(invariant, before)
    for path, value in _leaves(invariant):
        document.positions[path] = f"set by {policy}"
        asked, now = _at(before, path), _at(document.root, path)
        if asked is not None and now == value and now != asked:
            yield f"{dotted(path)} is {value}, set by {policy}; your value {asked} is ignored"


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
