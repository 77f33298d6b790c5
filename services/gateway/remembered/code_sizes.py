"""How large code snapshots are that hold an entrypoint: what has a hash never changes, so that it is looked up once. Whether it is still stored
the registry says."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from shared.ids import TenantId

_MOST = 4096


class CodeSizes:
    """Sizes in bytes of code that was checked, by its hash and an entrypoint. Each tenant's apart: what one has put is nothing to another."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[TenantId, str, str], int] = OrderedDict()

    async def of(
        self, tenant: TenantId, sha256: str, entrypoint: str, load: Callable[[], Awaitable[int | None]]
    ) -> int | None:
        """What `load` gave the first time; None, which is not remembered, where the tenant has put no such code.

        Args:
            entrypoint: Short: the whole of it is kept.
            load: It checks the code too, and raises for one that does not pass.
        """
        key = (tenant, sha256, entrypoint)
        size_bytes = self._known.get(key)
        if size_bytes is None:
            size_bytes = await load()
        if size_bytes is not None:
            self._known[key] = size_bytes
            self._known.move_to_end(key)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return size_bytes
