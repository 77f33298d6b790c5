"""What differs between two versions of a model."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from services.gateway.model_versions.schema import Difference, ModelVersion
from services.gateway.platform.json_values import NotFinite

_WORDS = {NotFinite.NAN: "NaN", NotFinite.INFINITY: "Infinity", NotFinite.NEGATIVE_INFINITY: "-Infinity"}
"""As protobuf's JSON has them: what differs may be of any kind."""


def compare(
    base: ModelVersion,
    other: ModelVersion,
    base_files: Mapping[str, str],
    other_files: Mapping[str, str],
) -> list[Difference]:
    """Return what is not the same, by kind and then by name. Files are given by path, with their SHA-256.

    Nested hyperparameters are named by their path, as in configs: `optimizer.lr`.
    """
    pairs: list[tuple[str, Mapping[str, JsonValue], Mapping[str, JsonValue]]] = [
        ("metric", _metrics(base), _metrics(other)),
        ("hyperparameter", _flat(base.lineage.hyperparameters), _flat(other.lineage.hyperparameters)),
        ("dataset", _datasets(base), _datasets(other)),
        ("code", {"sha256": base.lineage.code_sha256}, {"sha256": other.lineage.code_sha256}),
        ("step", {"step": base.lineage.step}, {"step": other.lineage.step}),
        ("signature", _signature(base), _signature(other)),
        ("size", {"bytes": base.size_bytes}, {"bytes": other.size_bytes}),
        ("file", dict(base_files), dict(other_files)),
    ]
    return [
        Difference(what=what, name=name, base=here.get(name), other=there.get(name))
        for what, here, there in pairs
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name)
    ]


def _metrics(version: ModelVersion) -> dict[str, JsonValue]:
    words = {name: _WORDS[which] for name, which in version.lineage.not_finite.items()}
    return {**version.lineage.metrics, **words}


def _flat(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return dict(_leaves(values, ""))


def _leaves(values: Mapping[str, JsonValue], place: str) -> Iterator[tuple[str, JsonValue]]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def _datasets(version: ModelVersion) -> dict[str, JsonValue]:
    return {one.name: {"version": one.version, "hash": one.hash} for one in version.lineage.datasets}


def _signature(version: ModelVersion) -> dict[str, JsonValue]:
    if version.signature is None:
        return {}
    ports = {"input": version.signature.inputs, "output": version.signature.outputs}
    return {
        f"{port} {tensor.name}": f"{tensor.dtype}{tensor.shape}"
        for port, tensors in ports.items()
        for tensor in tensors
    }
