"""What an import would do: config files, models, and what stays behind with the reason. Pure, but for the question whether a file is in its store."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import yaml
from pydantic import JsonValue

from muster.config import read_config
from muster.config.determined_translation import translate
from muster.config.yaml_reader import read_text
from muster.errors import Rejected
from muster.importing.dumps import Dump, Record, mapping, text, texts

METADATA_BYTES = 60 * 1024
"""What a model's metadata may hold, with room for the rest of the request."""
MOST_TAGS, TAG_LENGTH, NAME_LENGTH = 32, 64, 100
IsThere = Callable[[str, str], bool]
"""Whether a store has a file: its bucket and key."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._ -]+")
_FREE = ("hyperparameters", "data")
_NOBODYS = "the dump does not say of which model it is: save the whole answer, with its `model`"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One experiment's config, as Muster writes it.

    Attributes:
        experiment: Its number there.
        refusal: Why it cannot be submitted as it stands; empty where it can.
    """

    experiment: str
    file: str
    content: str
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def label(self) -> str:
        """By what an experiment that was submitted is known again."""
        return f"determined-{self.experiment}"

    @property
    def remark(self) -> str:
        """What is worth saying of the file."""
        if self.refusal:
            return f"it cannot be submitted: {self.refusal}"
        return f"{len(self.warnings)} of its keys differ here: see its first lines" if self.warnings else ""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model; its versions, which are checkpoints of the other installation, stand in its metadata with their addresses."""

    name: str
    workspace: str | None
    description: str
    notes: str
    tags: tuple[str, ...]
    metadata: Record
    versions: int


@dataclass(slots=True)
class ImportPlan:
    """What an import would do. `left_out`: what, and why."""

    configs: list[ConfigFile] = field(default_factory=list)
    models: list[ModelEntry] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def plan_import(dump: Dump, is_there: IsThere | None = None) -> ImportPlan:
    """Return what is taken over of `dump`, in the order of ids; `is_there` asks the store of the checkpoints, where its address was given."""
    plan = ImportPlan()
    for path in dump.unread:
        plan.left_out.append((path, "holds no experiment, model, version, checkpoint or workspace"))
    for path, version in dump.nobodys:
        plan.left_out.append((f"version {version} in {path}", _NOBODYS))
    for key in sorted(dump.experiments, key=_natural):
        _plan_config(plan, dump, dump.experiments[key], key)
    for key in sorted(dump.models):
        _plan_model(plan, dump, key, is_there)
    return plan


def _natural(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdecimal() else (2**63, key)


def _plan_config(plan: ImportPlan, dump: Dump, experiment: Record, number: str) -> None:
    try:
        config = _config_of(experiment)
    except Rejected as error:
        plan.left_out.append((f"experiment {number}", f"its config cannot be read: {error.message}"))
        return
    if not config:
        plan.left_out.append(
            (
                f"experiment {number}",
                "the dump has no config of it: save GET /api/v1/experiments/{id} as well",
            )
        )
        return
    workspace, project = dump.workspace_of(experiment), text(experiment.get("projectName"))
    if workspace is not None and project:
        config |= {"workspace": workspace, "project": project}
    told = translate(config)
    refusal = ""
    try:
        read_config(told.root)
    except Rejected as error:
        refusal = ": ".join(filter(None, (error.place, error.message))) + (
            f" ({error.hint})" if error.hint else ""
        )
    values = _pruned(told.root)
    name = _NOT_IN_NAMES.sub("-", text(values.get("name"))).strip(" .-").replace(" ", "-")[:60]
    file = f"experiment-{number}{f'-{name}' if name else ''}.yaml"
    content = _written(number, values, tuple(told.warnings), refusal)
    plan.configs.append(ConfigFile(number, file, content, tuple(told.warnings), refusal))


def _config_of(experiment: Record) -> Record:
    """The config with its defaults where the dump has it, else as its author wrote it."""
    config = experiment.get("config")
    if isinstance(config, dict):
        return dict(config)
    original = config if isinstance(config, str) else experiment.get("originalConfig")
    return read_text(original).root if isinstance(original, str) else {}


def _pruned(values: Record) -> Record:
    """Without what is null or empty: an expanded config names every key."""
    kept: Record = {}
    for key, given in values.items():
        value = _pruned(given) if isinstance(given, dict) and key not in _FREE else given
        if value not in (None, {}, [], ""):
            kept[key] = value
    return kept


def _written(number: str, values: Record, warnings: tuple[str, ...], refusal: str) -> str:
    said = [f"Experiment {number} of a Determined installation, by `muster import determined`."]
    said += [f"It cannot be submitted as it stands: {refusal}"] if refusal else []
    comment = "".join(f"# {' '.join(line.split())}\n" for line in (*said, *warnings))
    return comment + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)


def _plan_model(plan: ImportPlan, dump: Dump, key: str, is_there: IsThere | None) -> None:
    model = dump.models[key]
    given = text(model.get("name"))
    name = _NOT_IN_NAMES.sub("-", given).strip(" .-_")[:NAME_LENGTH].strip()
    if not name:
        plan.left_out.append(
            (f"model {given}", "nothing of its name can be a name here: letters, digits and . _ - are")
        )
        return
    if any(one.name == name for one in plan.models):
        plan.left_out.append((f"model {given}", f"another model of the dump is called {name} here"))
        return
    versions = [version for found, version in dump.versions.items() if found.rpartition("@")[0] == key]
    versions.sort(key=lambda version: _natural(text(version.get("version"))))
    entries = [_version(plan, dump, given, version, is_there) for version in versions]
    labels = [label for label in texts(model.get("labels")) if 0 < len(label) <= TAG_LENGTH][:MOST_TAGS]
    if len(labels) < len(texts(model.get("labels"))):
        plan.left_out.append(
            (f"labels of model {given}", f"{MOST_TAGS} of {TAG_LENGTH} characters at most are kept")
        )
    told: Record = {
        "id": model.get("id"),
        "name": given,
        "owner": model.get("username"),
        "created": model.get("creationTime"),
    }
    metadata: Record = {**mapping(model.get("metadata")), "determined": {**told, "versions": [*entries]}}
    while len(json.dumps(metadata).encode()) > METADATA_BYTES and entries:
        oldest = entries.pop(0)
        plan.left_out.append(
            (
                f"{given}@{text(oldest.get('version'))}",
                f"a model's metadata holds {METADATA_BYTES // 1024} KiB: the newest versions are kept",
            )
        )
        metadata = {**metadata, "determined": {**told, "versions": [*entries]}}
    if len(json.dumps(metadata).encode()) > METADATA_BYTES:
        plan.left_out.append((f"metadata of model {given}", f"more than {METADATA_BYTES // 1024} KiB"))
        metadata = {"determined": {**told, "versions": []}}
    plan.models.append(
        ModelEntry(name, dump.workspace_of(model), text(model.get("description"))[:10_000], text(model.get("notes"))[:100_000],
                   tuple(labels), metadata, len(entries))
    )  # fmt: skip


def _version(plan: ImportPlan, dump: Dump, model: str, version: Record, is_there: IsThere | None) -> Record:
    """What is kept of a version. Its checkpoint stays where it is: its address, and whether it was seen there."""
    brief = mapping(version.get("checkpoint"))
    checkpoint = {**dump.checkpoints.get(text(brief.get("uuid")), {}), **brief}
    training = mapping(checkpoint.get("training"))
    address = _address(checkpoint, training)
    reason = _unreachable(checkpoint, address, is_there)
    if reason:
        plan.left_out.append((f"checkpoint of {model}@{text(version.get('version'))}", reason))
    files = mapping(checkpoint.get("resources"))
    metrics = mapping(mapping(training.get("validationMetrics")).get("avgMetrics"))
    entry: Record = {
        "version": version.get("version"), "name": version.get("name"), "comment": version.get("comment"), "notes": version.get("notes"),
        "labels": [*texts(version.get("labels"))], "metadata": version.get("metadata"), "owner": version.get("username"),
        "created": version.get("creationTime"), "experiment": training.get("experimentId"), "trial": training.get("trialId"),
        "hyperparameters": training.get("hparams"), "metrics": metrics,
        "checkpoint": {"uuid": checkpoint.get("uuid"), "address": None if reason else "/".join(("s3:/", *address)), "files": len(files),
                       "size_bytes": sum(_size(size) for size in files.values()), "metadata": checkpoint.get("metadata")},
    }  # fmt: skip
    return {name: value for name, value in entry.items() if value not in (None, "", [], {})}


def _address(checkpoint: Record, training: Record) -> tuple[str, ...]:
    """Bucket and folder of a checkpoint in S3; nothing where it lies elsewhere."""
    storage = mapping(mapping(training.get("experimentConfig")).get("checkpoint_storage"))
    bucket, uuid = text(storage.get("bucket")), text(checkpoint.get("uuid"))
    if storage.get("type") != "s3" or not bucket or not uuid:
        return ()
    prefix = text(storage.get("prefix")).strip("/")
    return (bucket, *((prefix,) if prefix else ()), uuid)


def _unreachable(checkpoint: Record, address: tuple[str, ...], is_there: IsThere | None) -> str:
    if not checkpoint:
        return "the dump does not say which it is"
    if not address:
        return "it does not lie in S3: copy it to where your scripts reach it"
    if is_there is None:
        return "no address of its store was given: --s3 ADDRESS"
    files = sorted(name for name in mapping(checkpoint.get("resources")) if not name.endswith("/"))
    if not files:
        return "the dump names no file of it"
    key = "/".join((*address[1:], files[0]))
    return "" if is_there(address[0], key) else f"its store does not show {key}"


def _size(value: JsonValue) -> int:
    said = text(value)
    return int(said) if said.isdecimal() else 0
