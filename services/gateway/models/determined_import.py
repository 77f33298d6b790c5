"""Hints about model versions that `muster import determined` recorded in the model's metadata (decision 0143). Pure."""

from collections.abc import Mapping

from pydantic import JsonValue


def determined_hint(metadata: Mapping[str, JsonValue], reference: str) -> str | None:
    """Return why a version imported from Determined cannot be loaded, and what to do; None if there is no such version.

    Args:
        reference: Number or name of the version in Determined, or `latest`.
    """
    determined = metadata.get("determined")
    versions = determined.get("versions") if isinstance(determined, dict) else None
    known = [one for one in versions if isinstance(one, dict)] if isinstance(versions, list) else []
    named = (one for one in known if reference in (str(one.get("version")), one.get("name")))
    # The import stores the versions by number.
    found = next(named, known[-1] if known and reference == "latest" else None)
    if found is None:
        return None
    checkpoint = found.get("checkpoint")
    address = checkpoint.get("address") if isinstance(checkpoint, dict) else None
    where = f"its checkpoint is at {address}" if address else _lost(checkpoint)
    return (
        f"version {found.get('version')} was not imported from Determined: {where};"
        " load it in a script, save it with trial.checkpoint(), and register that checkpoint"
    )


def _lost(checkpoint: JsonValue) -> str:
    uuid = checkpoint.get("uuid") if isinstance(checkpoint, dict) else None
    return f"its checkpoint {uuid} was not found in its store" if uuid else "its checkpoint is unknown"
