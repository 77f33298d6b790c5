"""Reads clusters and policies (YAML) and workloads (YAML or CSV). Errors name file, position and reason.
`workload` converts the result to trials and experiments."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from muster.config import ExperimentConfig, load_config
from muster.config.yaml_reader import dotted, read_text
from muster.errors import Rejected, describe_fault
from simulator.files.schema import Cluster, Policy, Strict, TrialEntry, Workload

M = TypeVar("M", bound=Strict)
MAX_BYTES = 256 * 1024 * 1024
NAMED: Mapping[str, Policy] = {
    "default": Policy(),
    **{
        order: Policy(order=order, preemption=False, quantum_s=None, elastic=False)
        for order in ("fifo", "priority", "fair_share")
    },
}
"""`default`: a pool without configuration. The others are an order alone, without preemption."""


def read_cluster(path: Path) -> Cluster:
    """Raises Rejected."""
    return _read_yaml(path, Cluster)


def read_cluster_document(document: JsonValue, name: str) -> Cluster:
    """Validate an already parsed cluster; `name` is used in errors. Raises Rejected."""
    try:
        return Cluster.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        message = _plain(first).removeprefix("Value error, ")
        raise Rejected(f"invalid_{name}", message, dotted((name, *first["loc"]))) from None


def read_policy(name: str) -> Policy:
    """Return a policy by name or from a file; missing keys are as in `default`. Raises Rejected."""
    if name in NAMED:
        return NAMED[name]
    if not Path(name).exists():
        raise Rejected(
            "policy_unknown",
            f"{name!r} is neither a policy nor a file",
            hint=f"use one of {', '.join(NAMED)}, or the path of a YAML file",
        )
    return _read_yaml(Path(name), Policy)


def read_workload(path: Path) -> Workload:
    """Read a CSV file whose header has keys of `TrialEntry`, or YAML with lists `trials` and `experiments`. Raises
    Rejected."""
    return Workload(trials=tuple(_read_csv(path))) if path.suffix == ".csv" else _read_yaml(path, Workload)


def read_config(path: Path) -> ExperimentConfig:
    """Read an experiment's config. Raises Rejected."""
    try:
        return load_config(_text(path))
    except Rejected as error:
        raise _wrong(path, error.place or "", error.message) from None


def _read_yaml(path: Path, model: type[M]) -> M:
    text = _text(path)
    try:
        document = read_text(text)
    except Rejected as error:
        raise _wrong(path, error.place or "", error.message) from None
    try:
        return model.model_validate(document.root)
    except ValidationError as error:
        first = error.errors()[0]
        # For unions of numbers pydantic appends the type's name to the location.
        where = tuple(part for part in first["loc"] if not str(part).startswith(("__root__", "constrained-")))
        raise _wrong(path, document.place(where), _plain(first)) from None


def _read_csv(path: Path) -> list[TrialEntry]:
    lines = csv.DictReader(io.StringIO(_text(path)))
    known = set(TrialEntry.model_fields)
    columns = lines.fieldnames or []
    unknown = [column for column in columns if column not in known]
    if unknown:
        raise _wrong(path, "line 1", f"unknown column {unknown[0]!r}; known are {', '.join(sorted(known))}")
    trials = []
    for row in lines:
        where = f"line {lines.line_num}"
        if None in row or None in row.values():
            raise _wrong(path, where, f"does not have as many fields as the header ({len(columns)})")
        given: dict[str, JsonValue] = {key: value for key, value in row.items() if value != ""}
        try:
            trials.append(TrialEntry.model_validate(given))
        except ValidationError as error:
            first = error.errors()[0]
            column = dotted(first["loc"])
            raise _wrong(path, f"{where}, {column}" if column else where, _plain(first)) from None
    if not trials:
        raise _wrong(path, "line 2", "there are no trials")
    return trials


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _wrong(path, "", f"is larger than {MAX_BYTES >> 20} MiB")
        return path.read_text("utf-8")
    except OSError as error:
        raise Rejected("unreadable", f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _wrong(path, f"byte {error.start}", "is not UTF-8") from error


def _plain(fault: ErrorDetails) -> str:
    return describe_fault(fault["type"], fault["msg"], fault.get("ctx", {}))


def _wrong(path: Path, place: str, what: str) -> Rejected:
    message = what.removeprefix("Value error, ")
    return Rejected("invalid_file", message, f"{path}, {place}" if place else str(path))
