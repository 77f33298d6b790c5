"""`translate`: rewrite a Determined 0.38 config for Muster, with a warning for each key that behaves differently (decision 0264)."""

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
"""Values that request nothing, for any key."""

Values = dict[str, JsonValue]


@dataclass(slots=True)
class Translated:
    """A config rewritten for Muster.

    Attributes:
        root: A copy; the original is not changed.
        warnings: One per key that behaves differently: the key, what happens instead, what to do. They contain no values.
        has_secret: Whether a removed value is a secret, so that the text of the config must not be stored.
    """

    root: Values
    warnings: list[str] = field(default_factory=list)
    has_secret: bool = False

    def warn(self, name: str, message: str) -> None:
        key = BY_PATH.get(tuple(name.split(".")))
        old = " (deprecated in Determined 0.38)" if key is not None and key.is_deprecated else ""
        if len(self.warnings) < MOST_WARNINGS:
            self.warnings.append(f"{name}{old}: {message}")

    def section(self, *path: str) -> Values:
        """Return the mapping at a path; a detached empty mapping if there is none."""
        at: JsonValue = self.root
        for name in path:
            at = at.get(name) if isinstance(at, dict) else None
        return at if isinstance(at, dict) else {}


def translate(root: Mapping[str, JsonValue]) -> Translated:
    """Return `root` with keys specific to Determined translated, or removed with a warning.

    All other content, including errors, is kept for the schema to validate. A Muster config is returned unchanged, without warnings.
    """
    translated = Translated(deepcopy(dict(root)))
    _entrypoint(translated)
    _names(translated)
    _variables(translated)
    _images(translated)
    _shared_memory(translated)
    _checkpoint_period(translated)
    _log_days(translated)
    _length(translated)
    _population(translated)
    translated.has_secret = bool(translated.section("data").get("secrets")) or bool(
        translated.section("environment").get("registry_auth")
    )
    for key in KEYS:
        if key.translation is Translation.WITHOUT_EFFECT:
            _leave_out(translated, key)
        elif (
            key.translation is Translation.REFUSED
            and translated.section(*key.path[:-1]).get(key.path[-1]) in _EMPTY
        ):
            translated.section(*key.path[:-1]).pop(key.path[-1], None)
    for name in ("integrations", "internal"):
        if translated.root.get(name) == {}:
            del translated.root[name]
    return translated


def _leave_out(translated: Translated, key: Key) -> None:
    section = translated.section(*key.path[:-1])
    if key.path[-1] not in section:
        return
    value = section.pop(key.path[-1])
    if value in _EMPTY or value in key.harmless or _is_nothing(value):
        return
    translated.warn(key.name, key.message)
    translated.has_secret = translated.has_secret or key.is_secret


def _is_nothing(value: JsonValue) -> bool:
    """Whether a mapping requests nothing: `{batches: 0}`, or only nulls."""
    return isinstance(value, dict) and all(each in (None, 0, [], {}) for each in value.values())


def _entrypoint(translated: Translated) -> None:
    """Remove Determined's launcher from a command. Launcher options and --trial are kept, and the schema refuses them."""
    given = translated.root.get("entrypoint")
    if isinstance(given, str) and (found := _LAUNCHING.match(given)) is not None:
        translated.root["entrypoint"] = given[found.end() :]
    elif isinstance(given, list) and (found := _LAUNCHING.match(" ".join(map(str, given)))) is not None:
        translated.root["entrypoint"] = given[4 if given[3] == "--" else 3 :]
    else:
        return
    translated.root.setdefault("distributed", _TOGETHER[found[1]])
    translated.warn("entrypoint", BY_PATH[("entrypoint",)].message)
    _without_horovod(translated)


def _without_horovod(translated: Translated) -> None:
    section = translated.section("optimizations")
    for name, default in _HOROVODS.items():
        if translated.root["distributed"] != "horovod" and section.get(name) not in (None, default):
            del section[name]
            translated.warn(f"optimizations.{name}", BY_PATH["optimizations", name].message)


def _names(translated: Translated) -> None:
    for name in ("workspace", "project"):
        if translated.root.get(name) == "":
            del translated.root[name]
    full_name = translated.root.get("name")
    if isinstance(full_name, str) and len(full_name) > _NAME_LENGTH:
        translated.root["name"] = full_name[:_NAME_LENGTH]
        translated.warn("name", BY_PATH[("name",)].message)
    given = translated.root.get("labels")
    labels = sorted(given) if isinstance(given, dict) else given
    if isinstance(labels, list) and all(isinstance(label, str) for label in labels):
        meant = [str(label) for label in labels if label]
        kept = [label for label in meant if len(label) <= _LABEL_LENGTH][:_LABELS]
        translated.root["labels"] = [*kept]
        if len(kept) < len(meant):
            translated.warn(
                "labels",
                f"at most {_LABELS} labels of {_LABEL_LENGTH} characters are kept; the others are removed",
            )


def _variables(translated: Translated) -> None:
    """Replace lists per slot kind by one list of NAME=VALUE."""
    section = translated.section("environment")
    given = section.get("environment_variables")
    if isinstance(given, dict) and given.keys() <= set(_KINDS):
        section["environment_variables"] = given = _of_kind(translated, given)
    if isinstance(given, list) and any(isinstance(each, str) and each and "=" not in each for each in given):
        section["environment_variables"] = [
            each for each in given if not isinstance(each, str) or "=" in each
        ]
        translated.warn(
            "environment.environment_variables",
            "a NAME without a value has no effect, because trials do not inherit variables of the worker; write NAME=VALUE",
        )


def _of_kind(translated: Translated, given: Values) -> JsonValue:
    lists = {kind: value for kind, value in given.items() if value not in (None, [])}
    wanted = translated.section("resources").get("slot_kind")
    if wanted is None and translated.section("resources").get("slots_per_trial") == 0:
        wanted = "cpu"
    if wanted is not None:
        return lists.get(str(wanted)) or (lists.get("gpu") if wanted == "cuda" else None) or []
    distinct = [
        value for index, value in enumerate(lists.values()) if value not in list(lists.values())[:index]
    ]
    if len(distinct) <= 1:
        return distinct[0] if distinct else []
    chosen = next(kind for kind in _KINDS if kind in lists)
    translated.warn(
        "environment.environment_variables",
        f"the lists differ by slot kind and the list of {chosen} is used; choose one with resources.slot_kind",
    )
    return lists[chosen]


def _images(translated: Translated) -> None:
    """Remove Determined's own images, which its master sets in every config: they contain its harness and an older Python."""
    section = translated.section("environment")
    image = section.get("image")
    names = list(image.values()) if isinstance(image, dict) else [image]
    if any(isinstance(name, str) and "determinedai/" in name for name in names):
        del section["image"]
        translated.warn("environment.image", BY_PATH["environment", "image"].message)
        for key in ("registry_auth", "force_pull_image"):
            if section.pop(key, None) not in (*_EMPTY, False):
                translated.warn(f"environment.{key}", "it is removed with the image")


def _shared_memory(translated: Translated) -> None:
    """Remove the size of a container's shared memory if there is no container: Determined always runs one."""
    section = translated.section("resources")
    has_image = translated.section("environment").get("image") not in _EMPTY
    if has_image or section.get("shm_size") in _EMPTY:
        return
    del section["shm_size"]
    translated.warn("resources.shm_size", BY_PATH["resources", "shm_size"].message)


def _checkpoint_period(translated: Translated) -> None:
    given = translated.root.get("min_checkpoint_period")
    if isinstance(given, int) and not isinstance(given, bool):
        translated.root["min_checkpoint_period"] = given = {"batches": given}
    if isinstance(given, dict) and _is_nothing(given):
        del translated.root["min_checkpoint_period"]


def _log_days(translated: Translated) -> None:
    section = translated.section("retention_policy")
    if section.get("log_retention_days") == 0:
        section["log_retention_days"] = 1
        translated.warn(
            "retention_policy.log_retention_days", BY_PATH["retention_policy", "log_retention_days"].message
        )


def _length(translated: Translated) -> None:
    """Translate `max_length` to time_metric and max_time of ASHA; for other searchers, the script sets the length."""
    section = translated.section("searcher")
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
        translated.warn(
            "searcher.max_length",
            f"translated to time_metric: {length[0]} and max_time: {length[1]}; set these keys, and report {length[0]} in the script",
        )
    else:
        translated.warn("searcher.max_length", BY_PATH["searcher", "max_length"].message)


def _read_length(given: JsonValue) -> tuple[str, int] | None:
    """Return unit and length of `100` (batches) or `{epochs: 3}`; None for other values."""
    if isinstance(given, dict):
        translated = [(unit, given[unit]) for unit in _UNITS if given.get(unit) is not None]
        if len(translated) != 1 or len(translated) != sum(value is not None for value in given.values()):
            return None
        unit, length = translated[0]
    else:
        unit, length = "batches", given
    return (unit, length) if isinstance(length, int) and not isinstance(length, bool) and length > 0 else None


def _population(translated: Translated) -> None:
    """Translate PBT of Determined before 0.18, which trains in rounds of one length."""
    section = translated.section("searcher")
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
    translated.warn("searcher.num_rounds", BY_PATH["searcher", "num_rounds"].message)
