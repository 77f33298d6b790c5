"""`translate`: a config of Determined 0.38 as Muster writes it, and a warning for each key that does something else here (decision 0264)."""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from pydantic import JsonValue

from muster.config.determined_keys import BY_PATH, KEYS, Key, Translation

MOST_WARNINGS = 64
_NAME_LENGTH, _LABELS, _LABEL_LENGTH = 128, 64, 128
_UNITS = ("batches", "records", "epochs")
_KINDS = ("cuda", "gpu", "rocm", "cpu")
_TIMED = ("async_halving", "adaptive_asha")
_LAUNCHING = re.compile(
    r"\s*\S*python[\d.]*\s+-m\s+determined\.launch\.(torch_distributed|horovod|deepspeed|tensorflow)\s+(?:--\s+)?(?!-)"
)
_TOGETHER = {"torch_distributed": "torch", "horovod": "horovod", "deepspeed": "none", "tensorflow": "none"}
_HOROVODS: Mapping[str, JsonValue] = {"tensor_fusion_cycle_time": 1, "auto_tune_tensor_fusion": False}
_EMPTY: tuple[JsonValue, ...] = (None, "", [], {})
"""Values that ask for nothing, of any key."""

Values = dict[str, JsonValue]


@dataclass(slots=True)
class Translated:
    """A config as Muster writes it.

    Attributes:
        root: A copy; the given one is not changed.
        warnings: One for each key that does something else here: the key, what happens instead, what to do. No value is in them.
        has_secret: Whether a value that was left out is a secret, so that the config's text is not kept.
    """

    root: Values
    warnings: list[str] = field(default_factory=list)
    has_secret: bool = False

    def warn(self, name: str, says: str) -> None:
        key = BY_PATH.get(tuple(name.split(".")))
        old = " (deprecated in Determined 0.38)" if key is not None and key.is_deprecated else ""
        if len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(f"{name}{old}: {says}")

    def section(self, *path: str) -> Values:
        """Return the mapping there; an empty one, which is not part of the config, where none is."""
        at: JsonValue = self.root
        for name in path:
            at = at.get(name) if isinstance(at, dict) else None
        return at if isinstance(at, dict) else {}


def translate(root: Mapping[str, JsonValue]) -> Translated:
    """Return `root` with what is Determined's alone translated, or left out under a warning.

    Everything else, mistakes included, is left as it is: the schema judges it. A config of Muster's own comes back equal, without warnings.
    """
    told = Translated(deepcopy(dict(root)))
    _entrypoint(told)
    _names(told)
    _variables(told)
    _checkpoint_period(told)
    _log_days(told)
    _length(told)
    _population(told)
    told.has_secret = bool(told.section("data").get("secrets"))
    for key in KEYS:
        if key.fate is Translation.WITHOUT_EFFECT:
            _leave_out(told, key)
        elif key.fate is Translation.REFUSED and told.section(*key.path[:-1]).get(key.path[-1]) in _EMPTY:
            told.section(*key.path[:-1]).pop(key.path[-1], None)
    for name in ("integrations", "internal"):
        if told.root.get(name) == {}:
            del told.root[name]
    return told


def _leave_out(told: Translated, key: Key) -> None:
    section = told.section(*key.path[:-1])
    if key.path[-1] not in section:
        return
    value = section.pop(key.path[-1])
    if value in _EMPTY or value in key.harmless or _is_nothing(value):
        return
    told.warn(key.name, key.says)
    told.has_secret = told.has_secret or key.is_secret


def _is_nothing(value: JsonValue) -> bool:
    """Whether a mapping asks for nothing: `{batches: 0}`, or nothing but null."""
    return isinstance(value, dict) and all(each in (None, 0, [], {}) for each in value.values())


def _entrypoint(told: Translated) -> None:
    """Take Determined's launcher away from a command that it starts; its options, and --trial, are left for the schema to refuse."""
    given = told.root.get("entrypoint")
    if isinstance(given, str) and (found := _LAUNCHING.match(given)) is not None:
        told.root["entrypoint"] = given[found.end() :]
    elif isinstance(given, list) and (found := _LAUNCHING.match(" ".join(map(str, given)))) is not None:
        told.root["entrypoint"] = given[4 if given[3] == "--" else 3 :]
    else:
        return
    told.root.setdefault("distributed", _TOGETHER[found[1]])
    told.warn("entrypoint", BY_PATH[("entrypoint",)].says)
    _without_horovod(told)


def _without_horovod(told: Translated) -> None:
    section = told.section("optimizations")
    for name, default in _HOROVODS.items():
        if told.root["distributed"] != "horovod" and section.get(name) not in (None, default):
            del section[name]
            told.warn(f"optimizations.{name}", BY_PATH["optimizations", name].says)


def _names(told: Translated) -> None:
    for name in ("workspace", "project"):
        if told.root.get(name) == "":
            del told.root[name]
    full_name = told.root.get("name")
    if isinstance(full_name, str) and len(full_name) > _NAME_LENGTH:
        told.root["name"] = full_name[:_NAME_LENGTH]
        told.warn("name", BY_PATH[("name",)].says)
    given = told.root.get("labels")
    labels = sorted(given) if isinstance(given, dict) else given
    if isinstance(labels, list) and all(isinstance(label, str) for label in labels):
        meant = [str(label) for label in labels if label]
        kept = [label for label in meant if len(label) <= _LABEL_LENGTH][:_LABELS]
        told.root["labels"] = [*kept]
        if len(kept) < len(meant):
            told.warn(
                "labels", f"{_LABELS} of {_LABEL_LENGTH} characters at most are kept; the others are left out"
            )


def _variables(told: Translated) -> None:
    """One list of NAME=VALUE, in place of one for each kind of slot."""
    section = told.section("environment")
    given = section.get("environment_variables")
    if isinstance(given, dict) and given.keys() <= set(_KINDS):
        section["environment_variables"] = given = _of_kind(told, given)
    if isinstance(given, list) and any(isinstance(each, str) and each and "=" not in each for each in given):
        section["environment_variables"] = [
            each for each in given if not isinstance(each, str) or "=" in each
        ]
        told.warn(
            "environment.environment_variables",
            "a NAME without a value passes nothing on: trials see none of the worker's own variables; write NAME=VALUE",
        )


def _of_kind(told: Translated, given: Values) -> JsonValue:
    lists = {kind: value for kind, value in given.items() if value not in (None, [])}
    wanted = told.section("resources").get("slot_kind")
    if wanted is None and told.section("resources").get("slots_per_trial") == 0:
        wanted = "cpu"
    if wanted is not None:
        return lists.get(str(wanted)) or (lists.get("gpu") if wanted == "cuda" else None) or []
    distinct = [
        value for index, value in enumerate(lists.values()) if value not in list(lists.values())[:index]
    ]
    if len(distinct) <= 1:
        return distinct[0] if distinct else []
    chosen = next(kind for kind in _KINDS if kind in lists)
    told.warn(
        "environment.environment_variables",
        f"they differ by kind of slot, and those for {chosen} are taken; say which with resources.slot_kind",
    )
    return lists[chosen]


def _checkpoint_period(told: Translated) -> None:
    given = told.root.get("min_checkpoint_period")
    if isinstance(given, int) and not isinstance(given, bool):
        told.root["min_checkpoint_period"] = given = {"batches": given}
    if isinstance(given, dict) and _is_nothing(given):
        del told.root["min_checkpoint_period"]


def _log_days(told: Translated) -> None:
    section = told.section("retention_policy")
    if section.get("log_retention_days") == 0:
        section["log_retention_days"] = 1
        told.warn(
            "retention_policy.log_retention_days", BY_PATH["retention_policy", "log_retention_days"].says
        )


def _length(told: Translated) -> None:
    """`max_length` is how far trials go: time_metric and max_time of ASHA, and for other searchers the script's own matter."""
    section = told.section("searcher")
    if (given := section.pop("max_length", None)) is None:
        return
    length = _read_length(given)
    is_timed = section.get("name") in _TIMED
    if (
        is_timed
        and length is not None
        and section.get("time_metric") is None
        and section.get("max_time") is None
    ):
        section["time_metric"], section["max_time"] = length
        told.warn(
            "searcher.max_length",
            f"read as time_metric: {length[0]} and max_time: {length[1]}; write these, and have the script report {length[0]}",
        )
    else:
        told.warn("searcher.max_length", BY_PATH["searcher", "max_length"].says)


def _read_length(given: JsonValue) -> tuple[str, int] | None:
    """Return unit and length of `100` (batches) or `{epochs: 3}`; None where it is neither."""
    if isinstance(given, dict):
        told = [(unit, given[unit]) for unit in _UNITS if given.get(unit) is not None]
        if len(told) != 1 or len(told) != sum(value is not None for value in given.values()):
            return None
        unit, length = told[0]
    else:
        unit, length = "batches", given
    return (unit, length) if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None


def _population(told: Translated) -> None:
    """The population of Determined before 0.18: rounds of one length each."""
    section = told.section("searcher")
    if section.get("name") != "pbt" or "length_per_round" not in section or "num_rounds" not in section:
        return
    length, rounds = _read_length(section["length_per_round"]), section["num_rounds"]
    if length is None or not isinstance(rounds, int):
        return
    del section["length_per_round"], section["num_rounds"]
    section.update(time_metric=length[0], interval=length[1], max_time=length[1] * rounds)
    for name in ("replace_function", "explore_function"):
        if isinstance(more := section.pop(name, None), dict):
            section.update(more)
    told.warn("searcher.num_rounds", BY_PATH["searcher", "num_rounds"].says)
