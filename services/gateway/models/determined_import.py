"""What is known of a model's versions that `muster import determined` took over: they stand in its metadata (decision 0143). Pure."""

from collections.abc import Mapping

from pydantic import JsonValue


def determined_hint(metadata: Mapping[str, JsonValue], reference: str) -> str | None:
    """Return why a version of Determined cannot be loaded here and what to do; None where that is no such version.

    Args:
        reference: A number or a name there, or `latest`.
    """
    told = metadata.get("determined")
    versions = told.get("versions") if isinstance(told, dict) else None
    known = [one for one in versions if isinstance(one, dict)] if isinstance(versions, list) else []
    named = (one for one in known if reference in (str(one.get("version")), one.get("name")))
    # The import keeps them in the order of their numbers.
    found = next(named, known[-1] if known and reference == "latest" else None)
    if found is None:
        return None
    checkpoint = found.get("checkpoint")
    address = checkpoint.get("address") if isinstance(checkpoint, dict) else None
    where = f"its checkpoint lies at {address}" if address else _lost(checkpoint)
    return (
        f"version {found.get('version')} is Determined's: {where}, and not here;"
        " load it in a script, call trial.checkpoint(), and register what that saved"
    )


def _lost(checkpoint: JsonValue) -> str:
    uuid = checkpoint.get("uuid") if isinstance(checkpoint, dict) else None
    return f"its checkpoint {uuid} was not found in its store" if uuid else "its checkpoint is not known"
