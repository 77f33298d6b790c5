"""Storage limits of tenants and workspaces."""

from services.registry.core.names import InputRefusal

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def refuse_growth(
    used_bytes: int, more_bytes: int, maximum_bytes: int | None, workspace: str | None = None
) -> InputRefusal | None:
    """Return why the tenant or workspace may not store this many more bytes; None if it may. Needing no more bytes is never rejected."""
    if maximum_bytes is None or more_bytes <= 0 or used_bytes + more_bytes <= maximum_bytes:
        return None
    owner, limit = "the tenant", "the limit with `muster limit storage`"
    if workspace is not None:
        owner, limit = f"the workspace '{workspace}'", "the workspace's quota"
    return InputRefusal(
        "storage_full",
        f"{owner} stores {_size(used_bytes)} of the {_size(maximum_bytes)} allowed, and this needs "
        f"{_size(more_bytes)} more: delete checkpoints with `muster checkpoint collect`, or raise {limit}",
    )


def _size(count: int) -> str:
    for unit, size in _UNITS:
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
