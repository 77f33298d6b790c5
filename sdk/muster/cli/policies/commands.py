"""`muster template` and `muster policy`: config templates, and policies that limit or override configs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from muster.cli.base.command_classes import verb
from muster.cli.base.options import TemplateName
from muster.cli.base.output import emit, note, warn
from muster.cli.command_table import NOUNS
from muster.cli.experiments.input_files import read_source
from muster.cli.policies.render import whose
from muster.errors import Rejected

if TYPE_CHECKING:
    from muster.client.models import ConfigPolicy, JsonObject

templates = NOUNS["template"].app
policies = NOUNS["policy"].app

TEMPLATE = typer.Option("--template", help="Template to merge the config into, from `muster template list`.")
Config = Annotated[Path, typer.Argument(metavar="FILE", help="Path of a YAML or JSON file; - reads stdin.")]
OfWorkspace = Annotated[
    str | None, typer.Option("--workspace", "-w", help="Scope: this workspace; by default the whole tenant.")
]
Description = Annotated[str | None, typer.Option("--description", help="Purpose, for other users.")]
_KNOWN = {"invariant_config": (), "constraints": ("resources", "priority_limit")}


@verb(templates, "create")
def create(
    template: TemplateName, config: Config, workspace: OfWorkspace = None, description: Description = None
) -> None:
    """Create a template from a partial config."""
    from muster.client import connect

    values = _read(config)
    with connect() as client:
        found = client.templates.create(template, values, workspace=workspace, description=description or "")
    emit(found, lambda: note("template {} created for {}", found.name, whose(found.workspace)))


@verb(templates, "edit")
def edit(
    template: TemplateName,
    config: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="New config of the template; replaces the old one.")
    ] = None,
    description: Description = None,
) -> None:
    """Change a template; experiments that exist do not change."""
    from muster.client import connect

    values = None if config is None else _read(config)
    with connect() as client:
        found = client.templates.edit(template, values, description=description)
    emit(found, lambda: note("template {} sets {}", found.name, ", ".join(found.config)))


@verb(policies, "set")
def set_policy(config: Config, workspace: OfWorkspace = None) -> None:
    """Set the config policy of a workspace or the tenant, replacing the previous one: `invariant_config` and `constraints`, as in Determined."""
    from muster.client import connect

    values = _read(config)
    _check_keys(values)
    limits = _mapping(values, "constraints")
    slots = _mapping(limits, "resources").get("max_slots")
    with connect() as client:
        found = client.policies.set(
            workspace,
            invariant_config=_mapping(values, "invariant_config"),
            max_slots=_number(slots, "constraints.resources.max_slots"),
            priority_limit=_number(limits.get("priority_limit"), "constraints.priority_limit"),
        )
    warn(found.warnings)
    emit(found, lambda: _print_policy(found))


def _print_policy(found: "ConfigPolicy") -> None:
    name, slots, priority, sets, _ = _cells(found)
    note(
        "{}: max_slots {}, priority_limit {}, sets {}", name, slots or "-", priority or "-", sets or "nothing"
    )


def _cells(policy: "ConfigPolicy") -> tuple[object, ...]:
    sets = ", ".join(policy.invariant_config)
    return whose(policy.workspace), policy.max_slots, policy.priority_limit, sets, policy.by


def _read(config: Path) -> "JsonObject":
    from muster.config.yaml_reader import read_text

    return read_text(read_source(config)).root


def _check_keys(values: "JsonObject") -> None:
    for key in values:
        if key not in _KNOWN:
            raise Rejected(
                "unknown_key",
                f"unknown key '{key}'",
                key,
                "choose from invariant_config, constraints",
            )
    for key in _mapping(values, "constraints"):
        if key not in _KNOWN["constraints"]:
            hint = "choose from resources.max_slots, priority_limit"
            raise Rejected("unknown_key", f"unknown key '{key}'", f"constraints.{key}", hint)
    for key in _mapping(_mapping(values, "constraints"), "resources"):
        if key != "max_slots":
            hint = "use max_slots"
            raise Rejected("unknown_key", f"unknown key '{key}'", f"constraints.resources.{key}", hint)


def _mapping(values: "JsonObject", key: str) -> "JsonObject":
    found = values.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise Rejected("invalid_type", f"'{key}' must be a mapping of keys to values", key)
    return found


def _number(found: object, place: str) -> int | None:
    if found is not None and (not isinstance(found, int) or isinstance(found, bool)):
        raise Rejected("invalid_type", "this must be a whole number", place)
    return found
