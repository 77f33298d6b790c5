"""`merge_configs`: merge a config into a template by the rules of Determined 0.38 (decision 0264)."""

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
        ("environment", "secrets"),
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
"""Keys by which an entry of the config replaces an entry of the template."""
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
"""Sections with a type key: if the types differ, only these keys are shared."""
_ONE_AIM = frozenset({"metric", "smaller_is_better"})


def merge_configs(config: Values, template: Values) -> dict[str, JsonValue]:
    """Return `config` completed from `template`; neither is changed or validated.

    A scalar of the config wins. Mappings are merged key by key. A key set to null counts as missing, except in hyperparameters,
    where null is a value. Accumulating lists (labels, variables, log policies, mounts, devices, ...) are concatenated, the
    template's entries first, so that a variable of the config wins; an entry of the template whose name or `container_path`
    the config also has is dropped. Other lists, and hyperparameters with a `type`, are taken from the config as a whole.
    If the searcher's name or the storage's type differs, the template supplies only the keys that all kinds share.

    To apply several templates, nest the calls: `merge_configs(merge_configs(config, workspaces), global_)`. Pass values that
    must win, such as an invariant config, as `config`.
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
    """Keys of the template that are compatible with the config's."""
    if at not in _UNIONS:
        return under
    tag, shared = _UNIONS[at]
    if over.get(tag) is not None and under.get(tag) is not None and over[tag] != under[tag]:
        under = {key: value for key, value in under.items() if key in shared}
    if at == ("searcher",):  # `metrics` replaces `metric` and `smaller_is_better`.
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
    """Expand a list, which applies to all slot kinds."""
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
    if isinstance(entry, str):  # Devices may be written /host:/container:mode.
        return entry.split(":")[1] if ":" in entry else None
    if isinstance(entry, dict):
        return next((str(entry[key]) for key in keys if entry.get(key) is not None), None)
    return None


def _is_parameter(path: _Path) -> bool:
    return len(path) > 1 and path[0] == "hyperparameters"


def _is_leaf(over: Values, under: Values, at: _Path) -> bool:
    """Whether these are hyperparameters with a type, which are not merged."""
    return _is_parameter(at) and ("type" in over or "type" in under)
