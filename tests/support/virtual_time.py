"""Time that passes at once: a loop whose clock jumps to the next timer when nothing else is to be done. For tests without threads and sockets."""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

P = ParamSpec("P")


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Sleeps and timeouts take no time and come in their order; `time` says how much would have passed."""

    def __init__(self) -> None:
        self._now_s = 0.0
        selector = selectors.DefaultSelector()
        super().__init__(selector)
        look = selector.select

        def leap(timeout: float | None = None) -> Any:
            if timeout is None:
                raise RuntimeError("nothing is left that could happen: the test would wait for ever")
            ready = look(0)
            self._now_s += 0.0 if ready else timeout
            return ready

        selector.select = leap  # type: ignore[method-assign]

    def time(self) -> float:
        return self._now_s


def in_virtual_time(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Run a test on a loop of its own whose time is virtual."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def whole() -> None:
            await test(*args, **kwargs)

        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            runner.run(whole())

    return run
