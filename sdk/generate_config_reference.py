"""Write `docs/config.md` from the config's schema: `python sdk/generate_config_reference.py [--check]`. Run by `make gen`."""

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import JsonValue
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from generated import ROOT, main_of
from muster.config import Budget, Categorical, Const, Double, ExperimentConfig, Int, Log
from muster.config.base_section import Section
from muster.config.checkpoint_policy import CheckpointPeriod
from muster.config.environment import Environment
from muster.config.log_policies import LogPolicy
from muster.config.metrics import Metric
from muster.config.optimizations import Optimizations
from muster.config.samplers import Sampler
from muster.config.searcher_schema import KINDS
from muster.config.small_sections import (
    CheckpointStorage,
    Profiling,
    Reproducibility,
    Resources,
    RetentionPolicy,
    SlotRange,
)
from muster.config.warm_start import WarmStart

TARGET = ROOT / "docs/config.md"

HEADER = """# The experiment config

*Generated from the schema in `sdk/muster/config` by `make gen`; do not edit this page.*

The config of an experiment is a YAML or JSON document. [Search](search.md) and [training](training.md) explain how to use it; this page lists every key.

- `muster experiment create CONFIG --config key.path=value` overrides single keys of the file.
- Names and meanings follow Determined 0.38, and its configs are accepted. Keys that only Determined has are translated or ignored, with a warning
  ([coming from Determined](determined.md)).
- An unknown key is refused; the error suggests the most similar key.
- `null` means "not set". YAML anchors, aliases and tags are not allowed.

```yaml
name: digits
entrypoint: python3 train.py
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1.5}   # 10^-4 … 10^-1.5
  width: {type: categorical, vals: [8, 16, 24]}
  epochs: 12                                            # a constant
searcher: {name: adaptive_asha, metric: accuracy, smaller_is_better: false, max_trials: 16, time_metric: epochs, max_time: 12}
resources: {slots_per_trial: 1}
```
"""
SECTIONS: tuple[tuple[str, type[Section]], ...] = (
    ("The top", ExperimentConfig),
    ("`budget`", Budget),
    ("`resources`", Resources),
    ("`resources.slots_per_trial` as a range", SlotRange),
    ("`environment`", Environment),
    ("`checkpoint_storage`", CheckpointStorage),
    ("`min_checkpoint_period`", CheckpointPeriod),
    ("`reproducibility`", Reproducibility),
    ("`optimizations`", Optimizations),
    ("`profiling`", Profiling),
    ("`retention_policy`", RetentionPolicy),
    ("One of `log_policies`", LogPolicy),
)
PARAMETERS: tuple[type[Section], ...] = (Const, Categorical, Int, Double, Log)


MEANINGS = {
    "labels": "Labels to find the experiment by.",
    "log_policies": "Patterns that are matched against the trials' output, and the action of each match.",
    "save_experiment_best": "Number of the experiment's best checkpoints to keep.",
    "save_trial_best": "Number of each trial's best checkpoints to keep.",
    "save_trial_latest": "Number of each trial's newest checkpoints to keep.",
    "experiment_seed": "Seed of the search: equal seeds sample equal points.",
    "tensor_fusion_threshold": "MiB that Horovod combines into one exchange.",
    "tensor_fusion_cycle_time": "Milliseconds between Horovod's exchanges.",
    "auto_tune_tensor_fusion": "Let Horovod tune `tensor_fusion_threshold` and `tensor_fusion_cycle_time`.",
    "max_trials": "Total number of trials.",
    "max_concurrent_trials": "Number of concurrent trials; 0 means no limit.",
    "widen_to": "Limit of concurrent trials while slots of the pool are idle and no request waits.",
    "time_metric": "The metric that your script reports as its progress, such as `epochs`.",
    "max_time": "Longest training of a trial, in units of `time_metric`.",
    "sampler": "How points are proposed; see `sampler` below.",
    "divisor": "At each rung, one in this many trials continues.",
    "stop_once": "`true`: a trial that is not among the best so far stops at once. `false`: it pauses at its rung and resumes once it is among the best.",
    "num_rungs": "Number of rungs, including the end of the training.",
    "mode": "How early trials are stopped.",
    "max_rungs": "Largest number of rungs of a bracket.",
    "bracket_rungs": "The rungs of each bracket, instead of `mode`.",
    "count": "Number of evenly spaced values in a grid.",
    "minval": "Lower bound; for `log` the lower exponent.",
    "maxval": "Upper bound; for `log` the upper exponent.",
    "base": "Base of the power, usually 10.",
}
"""Descriptions of keys that the schema's docstrings do not describe."""


def generate() -> str:
    """Return the text of the page."""
    parts = [HEADER]
    for title, section in SECTIONS:
        parts.append(_section(f"## {title}", section, with_purpose=section is not ExperimentConfig))
    parts.append("## `searcher`\n\nOne of these sections, selected by `name`.\n")
    parts += [_section(f"### `name: {_tag(one, 'name')}`", one) for one in KINDS.values()]
    parts.append(_section("### `sampler`", Sampler))
    parts.append(_section("### `warm_start`", WarmStart))
    parts.append(_section("### One of `metrics`", Metric))
    parts.append(
        "## `hyperparameters`\n\nA mapping of names to constants, to one of these types, or to further mappings at any depth.\n"
    )
    parts += [_section(f"### `type: {_tag(one, 'type')}`", one) for one in PARAMETERS]
    return "\n".join(parts)


def _section(title: str, section: type[Section], with_purpose: bool = True) -> str:
    purpose = f"{_purpose(section)}\n\n" if with_purpose else ""
    rows = [
        _row(section, name, field) for name, field in section.model_fields.items() if not _is_tag(name, field)
    ]
    table = "| key | value | default | |\n|---|---|---|---|\n" + "\n".join(rows) if rows else ""
    return f"{title}\n\n{purpose}{table}\n"


def _row(section: type[Section], name: str, field: FieldInfo) -> str:
    cells = (
        f"`{name}`",
        _type(field),
        _default(field),
        _meanings(section).get(name) or MEANINGS.get(name, ""),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _type(field: FieldInfo) -> str:
    text = _type_name(field.annotation)
    return ", ".join((text, *_limits(field.metadata, text)))


def _type_name(kind: Any) -> str:
    if kind is JsonValue:
        return "any value"
    origin = get_origin(kind)
    if origin is Annotated:
        return _type_name(get_args(kind)[0])
    if origin is Literal:
        return " or ".join(
            f"`{str(value).lower() if isinstance(value, bool) else value}`" for value in get_args(kind)
        )
    if origin in (Union, UnionType):
        names = [_branch(one) for one in get_args(kind) if one is not NoneType]
        return " or ".join(dict.fromkeys(names))
    if origin in (tuple, list):
        return f"list of {_type_name(get_args(kind)[0])}"
    if origin is dict or not isinstance(kind, type):
        return "mapping"
    if issubclass(kind, Section):
        return "section"
    return {str: "string", int: "integer", float: "number", bool: "`true` or `false`"}.get(kind, "any value")


def _branch(kind: Any) -> str:
    """Return one alternative of a union, with its own limits."""
    fields = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, FieldInfo)]
    text = _type_name(kind)
    return ", ".join((text, *(limit for field in fields for limit in _limits(field.metadata, text))))


def _limits(limits: Iterable[object], kind: str) -> Iterator[str]:
    """Yield the limits as text; `kind` is the text of the type, which decides the unit of a length."""
    unit = {"string": "characters", "mapping": "keys"}.get(kind, "items")
    for limit in limits:
        match limit:
            case Ge():
                yield f"≥ {limit.ge}"
            case Gt():
                yield f"> {limit.gt}"
            case Le():
                yield f"≤ {limit.le}"
            case MinLen() if limit.min_length > 1:
                yield f"at least {limit.min_length} {unit}"
            case MaxLen():
                yield f"at most {limit.max_length} {unit}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**required**"
    if field.default_factory_takes_validated_data:
        return "computed"
    value = (
        field.default
        if field.default is not PydanticUndefined
        else field.get_default(call_default_factory=True)
    )
    if value is None:
        return "not set"
    if isinstance(value, Section) or value in ((), {}, "", []):
        return "empty" if not isinstance(value, Section) else ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _purpose(section: type[Section]) -> str:
    text = inspect.getdoc(section) or ""
    return " ".join(text.partition("Attributes:")[0].split())


def _meanings(section: type[Section]) -> dict[str, str]:
    """Return each key's description from the docstrings, including those of base classes."""
    found: dict[str, str] = {}
    for one in reversed(section.__mro__):
        text = inspect.cleandoc(one.__dict__.get("__doc__") or "").partition("Attributes:")[2]
        for name, meaning in re.findall(r"^ {4}(\w+): ((?:.+\n?(?: {8}.+\n?)*))", text, re.MULTILINE):
            found[name] = " ".join(meaning.split())
    return found


def _is_tag(name: str, field: FieldInfo) -> bool:
    return (
        name in ("name", "type")
        and get_origin(field.annotation) is Literal
        and len(get_args(field.annotation)) == 1
    )


def _tag(section: type[Section], name: str) -> str:
    return str(get_args(section.model_fields[name].annotation)[0])


if __name__ == "__main__":
    sys.exit(main_of(TARGET, generate()))
