"""What Determined's REST API answered, as files: experiments, models, versions, checkpoints, workspaces."""

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
"""Members of the API's answers, and what they hold; the others (pagination, jobSummary) say nothing that is taken over."""


@dataclass(slots=True)
class Dump:
    """All that the files told, each thing once: by its id, a version by its model and number. What comes later wins.

    Attributes:
        unread: Files that held none of it.
        nobodys: Versions of which nothing says whose they are: the file, and the version's number.
    """

    experiments: dict[str, Record] = field(default_factory=dict)
    models: dict[str, Record] = field(default_factory=dict)
    versions: dict[str, Record] = field(default_factory=dict)
    checkpoints: dict[str, Record] = field(default_factory=dict)
    workspaces: dict[str, Record] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    nobodys: list[tuple[str, str]] = field(default_factory=list)

    def workspace_of(self, record: Record) -> str | None:
        """Return the name of the workspace in which `record` lies; None where it is not known, or is the one for all else."""
        name = record.get("workspaceName") or self.workspaces.get(text(record.get("workspaceId")), {}).get(
            "name"
        )
        return None if name in (None, "", "Uncategorized") else text(name)


def text(value: JsonValue) -> str:
    """Return a value as text; nothing for null."""
    return "" if value is None else str(value)


def mapping(value: JsonValue) -> Record:
    """Return a mapping; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def texts(value: JsonValue) -> list[str]:
    """Return the texts of a list; none for anything else."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def read_dumps(paths: Iterable[Path]) -> Dump:
    """Read files, and the `*.json` of folders: each one answer of the API.

    Raises:
        Rejected: A path does not exist, or a file is no JSON or too large.
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
            "dump_missing", f"there is no {path}", hint="save what the REST API answers as JSON files"
        )
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*.json") if file.is_file())
    else:
        yield path


def _read(file: Path) -> JsonValue:
    if file.stat().st_size > MOST_BYTES:
        raise Rejected(
            "dump_large", f"{file} is larger than {MOST_BYTES // 1024**2} MiB", hint="ask the API for pages"
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
    """`GET /models/{name}/versions` tells the model beside its versions, and need not repeat it in each."""
    return {**version, "model": version.get("model") or answer.get("model")}


def _with_config(record: Record, answer: Record) -> Record:
    """`GET /experiments/{id}` may tell the config beside the experiment."""
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
    """Return by what a model is told from others: names are unique in Determined."""
    return text(model.get("name")).lower()
