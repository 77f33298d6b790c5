"""How much a tenant, or a workspace of one, may store."""

from services.registry.core.names import InputRefusal

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def refuse_growth(
    used_bytes: int, more_bytes: int, maximum_bytes: int | None, workspace: str | None = None
) -> InputRefusal | None:
    """Return why so many more bytes are not stored by the tenant, or by a workspace; None when they are. What needs no more is never refused."""
    if maximum_bytes is None or more_bytes <= 0 or used_bytes + more_bytes <= maximum_bytes:
        return None
    who, raised = "the tenant", "the limit raised with `muster limit storage`"
    if workspace is not None:
        who, raised = f"the workspace '{workspace}'", "the workspace's quota raised"
    return InputRefusal(
        "storage_full",
        f"{who} stores {_size(used_bytes)} of the {_size(maximum_bytes)} that it may, and this needs "
        f"{_size(more_bytes)} more: delete checkpoints with `muster checkpoint collect`, or have {raised}",
    )


def _size(count: int) -> str:
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
