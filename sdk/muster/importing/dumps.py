"""Reader for dumps of Determined's REST API: experiments, models, versions, checkpoints, workspaces."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from muster.errors import Rejected

Record = dict[str, JsonValue]

MOST_BYTES = 512 * 1024 * 1024
_KINDS: Mapping[str, str] = {
    "experiments": "experiments", "experiment": "experiments",
    "models": "models", "model": "models",
    "modelVersions": "versions", "modelVersion": "versions",
    "checkpoints": "checkpoints", "checkpoint": "checkpoints",
    "workspaces": "workspaces", "workspace": "workspaces",
}  # fmt: skip
"""Members of API responses by record kind; other members (pagination, jobSummary) are not imported."""


@dataclass(slots=True)
class Dump:
    """All records of the dumps by id, versions by model and number. Later records override earlier ones.

    Attributes:
        unread: Files without any such record.
        nobodys: Versions without a model, as file and version number.
    """

    experiments: dict[str, Record] = field(default_factory=dict)
    models: dict[str, Record] = field(default_factory=dict)
    versions: dict[str, Record] = field(default_factory=dict)
    checkpoints: dict[str, Record] = field(default_factory=dict)
    workspaces: dict[str, Record] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    nobodys: list[tuple[str, str]] = field(default_factory=list)

    def workspace_of(self, record: Record) -> str | None:
        """Return the workspace name of `record`; None if unknown or Uncategorized."""
        name = record.get("workspaceName") or self.workspaces.get(text(record.get("workspaceId")), {}).get(
            "name"
        )
        return None if name in (None, "", "Uncategorized") else text(name)


def text(value: JsonValue) -> str:
    """Return a value as text; an empty string for null."""
    return "" if value is None else str(value)


def mapping(value: JsonValue) -> Record:
    """Return a mapping; an empty one for other types."""
    return value if isinstance(value, dict) else {}


def texts(value: JsonValue) -> list[str]:
    """Return the strings of a list; none for other types."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def read_dumps(paths: Iterable[Path]) -> Dump:
    """Read files, and the `*.json` files of folders, each with one API response.

    Raises:
        Rejected: A path does not exist, or a file is not JSON or too large.
    """
    dump = Dump()
    for path in paths:
        for file in _files(path):
            if not _take(dump, _read(file), str(file)):
                dump.unread.append(str(file))
    return dump


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise Rejected(
            "dump_missing", f"{path} does not exist", hint="save responses of the REST API as JSON files"
        )
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*.json") if file.is_file())
    else:
        yield path


def _read(file: Path) -> JsonValue:
    if file.stat().st_size > MOST_BYTES:
        raise Rejected(
            "dump_large",
            f"{file} is larger than {MOST_BYTES // 1024**2} MiB",
            hint="request the API page by page",
        )
    try:
        value: JsonValue = json.loads(file.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise Rejected("dump_unreadable", f"{file} is not JSON: {error}") from None
    return value


def _take(dump: Dump, answer: JsonValue, file: str) -> bool:
    found = False
    for name, value in mapping(answer).items():
        kind = _KINDS.get(name)
        records = value if isinstance(value, list) else [value]
        for record in records if kind is not None else ():
            if isinstance(record, dict):
                found = True
                whole = _with_model(record, mapping(answer)) if kind == "versions" else record
                if kind == "versions" and not model_key(mapping(whole.get("model"))):
                    dump.nobodys.append((file, text(whole.get("version"))))
                    continue
                _keep(dump, kind or "", _with_config(whole, mapping(answer)))
    return found


def _with_model(version: Record, answer: Record) -> Record:
    """Add the model, which `GET /models/{name}/versions` sends beside its versions."""
    return {**version, "model": version.get("model") or answer.get("model")}


def _with_config(record: Record, answer: Record) -> Record:
    """Add the config, which `GET /experiments/{id}` may send beside the experiment."""
    beside = answer.get("config")
    return (
        {**record, "config": beside}
        if "config" not in record and beside and "experiment" in answer
        else record
    )


def _keep(dump: Dump, kind: str, record: Record) -> None:
    known: dict[str, Record] = getattr(dump, kind)
    if kind == "versions":
        model = mapping(record.get("model"))
        key = f"{model_key(model)}@{text(record.get('version'))}"
        dump.models[model_key(model)] = {**model, **dump.models.get(model_key(model), {})}
    elif kind == "models":
        key = model_key(record)
    else:
        key = text(record.get("uuid") if kind == "checkpoints" else record.get("id"))
    known[key] = {
        **known.get(key, {}),
        **{name: value for name, value in record.items() if value is not None},
    }


def model_key(model: Record) -> str:
    """Return the key of a model: names are unique in Determined."""
    return text(model.get("name")).lower()
