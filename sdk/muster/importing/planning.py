"""Planning of an import: config files, models, and skipped items with reasons. Pure, except for the check of files in the object store."""

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
"""Maximum size of a model's metadata, with space for the rest of the request."""
MOST_TAGS, TAG_LENGTH, NAME_LENGTH = 32, 64, 100
IsThere = Callable[[str, str], bool]
"""Checks whether a store has a file, by bucket and key."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._ -]+")
_FREE = ("hyperparameters", "data")
_NOBODYS = "the dump does not name its model: save the whole response, including `model`"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The config of one experiment, translated for Muster.

    Attributes:
        experiment: Number of the experiment in Determined.
        refusal: Why the config cannot be submitted; empty if it can.
    """

    experiment: str
    file: str
    content: str
    warnings: tuple[str, ...] = ()
    refusal: str = ""

    @property
    def label(self) -> str:
        """Label that identifies the submitted experiment."""
        return f"determined-{self.experiment}"

    @property
    def remark(self) -> str:
        """Remark about the file."""
        if self.refusal:
            return f"cannot be submitted: {self.refusal}"
        return (
            f"{len(self.warnings)} keys behave differently: see the comments in the file"
            if self.warnings
            else ""
        )


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model. Its versions, whose checkpoints stay in the other installation, are listed with their addresses in its metadata."""

    name: str
    workspace: str | None
    description: str
    notes: str
    tags: tuple[str, ...]
    metadata: Record
    versions: int


@dataclass(slots=True)
class ImportPlan:
    """Planned content of an import. `skipped` lists skipped items with reasons."""

    configs: list[ConfigFile] = field(default_factory=list)
    models: list[ModelEntry] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def plan_import(dump: Dump, is_there: IsThere | None = None) -> ImportPlan:
    """Return the import plan of `dump`, sorted by id; `is_there` checks the checkpoints' store, if its address is known."""
    plan = ImportPlan()
    for path in dump.unread:
        plan.skipped.append((path, "contains no experiment, model, version, checkpoint or workspace"))
    for path, version in dump.unowned:
        plan.skipped.append((f"version {version} in {path}", _NOBODYS))
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
        plan.skipped.append((f"experiment {number}", f"its config cannot be parsed: {error.message}"))
        return
    if not config:
        plan.skipped.append(
            (
                f"experiment {number}",
                "the dump lacks its config: also save GET /api/v1/experiments/{id}",
            )
        )
        return
    workspace, project = dump.workspace_of(experiment), text(experiment.get("projectName"))
    if workspace is not None and project:
        config |= {"workspace": workspace, "project": project}
    source = translate(config)
    refusal = ""
    try:
        read_config(source.root)
    except Rejected as error:
        refusal = ": ".join(filter(None, (error.place, error.message))) + (
            f" ({error.hint})" if error.hint else ""
        )
    values = _pruned(source.root)
    name = _NOT_IN_NAMES.sub("-", text(values.get("name"))).strip(" .-").replace(" ", "-")[:60]
    file = f"experiment-{number}{f'-{name}' if name else ''}.yaml"
    content = _written(number, values, tuple(source.warnings), refusal)
    plan.configs.append(ConfigFile(number, file, content, tuple(source.warnings), refusal))


def _config_of(experiment: Record) -> Record:
    """Return the config with defaults if the dump has it, else as the author wrote it."""
    config = experiment.get("config")
    if isinstance(config, dict):
        return dict(config)
    original = config if isinstance(config, str) else experiment.get("originalConfig")
    return read_text(original).root if isinstance(original, str) else {}


def _pruned(values: Record) -> Record:
    """Remove null and empty values: an expanded config lists every key."""
    kept: Record = {}
    for key, given in values.items():
        value = _pruned(given) if isinstance(given, dict) and key not in _FREE else given
        if value not in (None, {}, [], ""):
            kept[key] = value
    return kept


def _written(number: str, values: Record, warnings: tuple[str, ...], refusal: str) -> str:
    header = [f"Experiment {number} of a Determined installation, imported with `muster import determined`."]
    header += [f"It cannot be submitted: {refusal}"] if refusal else []
    comment = "".join(f"# {' '.join(line.split())}\n" for line in (*header, *warnings))
    return comment + yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=110)


def _plan_model(plan: ImportPlan, dump: Dump, key: str, is_there: IsThere | None) -> None:
    model = dump.models[key]
    given = text(model.get("name"))
    name = _NOT_IN_NAMES.sub("-", given).strip(" .-_")[:NAME_LENGTH].strip()
    if not name:
        plan.skipped.append((f"model {given}", "its name has no valid characters: letters, digits and . _ -"))
        return
    if any(one.name == name for one in plan.models):
        plan.skipped.append((f"model {given}", f"another model of the dump has the name {name}"))
        return
    versions = [version for found, version in dump.versions.items() if found.rpartition("@")[0] == key]
    versions.sort(key=lambda version: _natural(text(version.get("version"))))
    entries = [_version(plan, dump, given, version, is_there) for version in versions]
    labels = [label for label in texts(model.get("labels")) if 0 < len(label) <= TAG_LENGTH][:MOST_TAGS]
    if len(labels) < len(texts(model.get("labels"))):
        plan.skipped.append(
            (f"labels of model {given}", f"at most {MOST_TAGS} labels of {TAG_LENGTH} characters are kept")
        )
    source: Record = {
        "id": model.get("id"),
        "name": given,
        "owner": model.get("username"),
        "created": model.get("creationTime"),
    }
    metadata: Record = {**mapping(model.get("metadata")), "determined": {**source, "versions": [*entries]}}
    while len(json.dumps(metadata).encode()) > METADATA_BYTES and entries:
        oldest = entries.pop(0)
        plan.skipped.append(
            (
                f"{given}@{text(oldest.get('version'))}",
                f"metadata of a model is limited to {METADATA_BYTES // 1024} KiB: only the newest versions are kept",
            )
        )
        metadata = {**metadata, "determined": {**source, "versions": [*entries]}}
    if len(json.dumps(metadata).encode()) > METADATA_BYTES:
        plan.skipped.append((f"metadata of model {given}", f"it exceeds {METADATA_BYTES // 1024} KiB"))
        metadata = {"determined": {**source, "versions": []}}
    plan.models.append(
        ModelEntry(name, dump.workspace_of(model), text(model.get("description"))[:10_000], text(model.get("notes"))[:100_000],
                   tuple(labels), metadata, len(entries))
    )  # fmt: skip


def _version(plan: ImportPlan, dump: Dump, model: str, version: Record, is_there: IsThere | None) -> Record:
    """Return the metadata of a version: the checkpoint stays where it is; its address and whether it was found are recorded."""
    brief = mapping(version.get("checkpoint"))
    checkpoint = {**dump.checkpoints.get(text(brief.get("uuid")), {}), **brief}
    training = mapping(checkpoint.get("training"))
    address = _address(checkpoint, training)
    reason = _unreachable(checkpoint, address, is_there)
    if reason:
        plan.skipped.append((f"checkpoint of {model}@{text(version.get('version'))}", reason))
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
    """Return bucket and folder of a checkpoint in S3; empty for other storage."""
    storage = mapping(mapping(training.get("experimentConfig")).get("checkpoint_storage"))
    bucket, uuid = text(storage.get("bucket")), text(checkpoint.get("uuid"))
    if storage.get("type") != "s3" or not bucket or not uuid:
        return ()
    prefix = text(storage.get("prefix")).strip("/")
    return (bucket, *((prefix,) if prefix else ()), uuid)


def _unreachable(checkpoint: Record, address: tuple[str, ...], is_there: IsThere | None) -> str:
    if not checkpoint:
        return "the dump does not identify the checkpoint"
    if not address:
        return "it is not in S3: copy it to a location that your scripts can reach"
    if is_there is None:
        return "the address of its store is unknown: pass --s3 ADDRESS"
    files = sorted(name for name in mapping(checkpoint.get("resources")) if not name.endswith("/"))
    if not files:
        return "the dump lists no files"
    key = "/".join((*address[1:], files[0]))
    return "" if is_there(address[0], key) else f"its store does not have {key}"


def _size(value: JsonValue) -> int:
    given = text(value)
    return int(given) if given.isdecimal() else 0
