"""`merge_configs`: a config laid over a template, by the rules of Determined 0.38 (decision 0264)."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from pydantic import JsonValue

Values: TypeAlias = Mapping[str, JsonValue]
_Path: TypeAlias = tuple[str, ...]

_JOINED: frozenset[_Path] = frozenset(
    {
        ("labels",),
        ("constraints",),
        ("environment", "environment_variables"),
        ("environment", "environment_variables", "cpu"),
        ("environment", "environment_variables", "cuda"),
        ("environment", "environment_variables", "rocm"),
        ("environment", "proxy_ports"),
        ("environment", "add_capabilities"),
        ("environment", "drop_capabilities"),
        ("resources", "excluded_workers"),
        ("log_policies",),
        ("bind_mounts",),
        ("resources", "devices"),
    }
)
_VARIABLES = ("environment", "environment_variables")
_KINDS = ("cpu", "cuda", "rocm")
_KEYED: Mapping[_Path, tuple[str, ...]] = {
    ("log_policies",): ("name", "pattern"),
    ("bind_mounts",): ("container_path",),
    ("resources", "devices"): ("container_path",),
}
"""By which of its keys an entry of the config stands in the place of the template's."""
_UNIONS: Mapping[_Path, tuple[str, frozenset[str]]] = {
    ("searcher",): (
        "name",
        frozenset(
            {"metric", "smaller_is_better", "metrics", "limits", "source_trial_id", "source_checkpoint_uuid", "source_model"}
        ),
    ),
    ("checkpoint_storage",): (
        "type",
        frozenset({"save_experiment_best", "save_trial_best", "save_trial_latest"}),
    ),
}  # fmt: skip
"""Where two that differ by this key share no other keys than these."""
_ONE_AIM = frozenset({"metric", "smaller_is_better"})


def merge_configs(config: Values, template: Values) -> dict[str, JsonValue]:
    """Return `config` with what it leaves open taken from `template`; neither is changed, and neither is checked.

    A scalar of the config wins. Mappings are merged key by key; a key set to null is open, but as a hyperparameter, where null is a
    value. Lists that gather (labels, variables, log policies, mounts, devices, ...) are joined, the template's first, so that a
    variable of the config wins; an entry of the template whose name or `container_path` the config has too is left out. Other
    lists, and hyperparameters with a `type`, are the config's as a whole. Of a searcher with another name, or a storage of another
    type, the template gives only the keys that all kinds have.

    Several templates are laid under one another: `merge_configs(merge_configs(config, workspaces), global_)`. What must win, such as
    an invariant config, is given as `config`.
    """
    return _merged(config, template, ())


def _merged(over: Values, under: Values, at: _Path) -> dict[str, JsonValue]:
    values = dict(_fitting(over, under, at))
    for key, value in over.items():
        path = (*at, key)
        if value is None and not _is_parameter(path):
            continue
        values[key] = _one(value, values.get(key), path)
    return values


def _fitting(over: Values, under: Values, at: _Path) -> Values:
    """What of the template may stand beside the config's keys."""
    if at not in _UNIONS:
        return under
    tag, shared = _UNIONS[at]
    if over.get(tag) is not None and under.get(tag) is not None and over[tag] != under[tag]:
        under = {key: value for key, value in under.items() if key in shared}
    if at == ("searcher",):  # `metrics` stands in the place of the other two.
        excluded = (
            _ONE_AIM
            if over.get("metrics") is not None
            else frozenset({"metrics"} if _ONE_AIM & over.keys() else ())
        )
        under = {key: value for key, value in under.items() if key not in excluded}
    return under


def _one(over: JsonValue, under: JsonValue, at: _Path) -> JsonValue:
    if at == _VARIABLES and isinstance(over, dict) != isinstance(under, dict):
        over, under = _by_kind(over), _by_kind(under)
    if isinstance(over, list) and isinstance(under, list) and at in _JOINED:
        return _joined(over, under, at)
    if isinstance(over, dict) and isinstance(under, dict) and not _is_leaf(over, under, at):
        return _merged(over, under, at)
    return over


def _by_kind(variables: JsonValue) -> JsonValue:
    """A list is for every kind of slot."""
    return dict.fromkeys(_KINDS, variables) if isinstance(variables, list) else variables


def _joined(over: list[JsonValue], under: list[JsonValue], at: _Path) -> JsonValue:
    if (keys := _KEYED.get(at)) is not None:
        taken = {_name(entry, keys) for entry in over} - {None}
        return [*(entry for entry in under if _name(entry, keys) not in taken), *over]
    if at == ("labels",):
        return _once([*under, *over])
    return [*under, *over]


def _once(entries: Iterable[JsonValue]) -> list[JsonValue]:
    kept: list[JsonValue] = []
    for entry in entries:
        if entry not in kept:
            kept.append(entry)
    return kept


def _name(entry: JsonValue, keys: tuple[str, ...]) -> str | None:
    if isinstance(entry, str):  # A device may be written /host:/container:mode.
        return entry.split(":")[1] if ":" in entry else None
    if isinstance(entry, dict):
        return next((str(entry[key]) for key in keys if entry.get(key) is not None), None)
    return None


def _is_parameter(path: _Path) -> bool:
    return len(path) > 1 and path[0] == "hyperparameters"


def _is_leaf(over: Values, under: Values, at: _Path) -> bool:
    """Whether these are hyperparameters with a type, which are taken whole."""
    return _is_parameter(at) and ("type" in over or "type" in under)
