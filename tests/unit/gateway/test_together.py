"""Work that several ask for at once is done once, and again for whoever comes later."""

import asyncio

import pytest

from services.gateway.remembered.together import Together


class Work:
    """Ends when it is let, with how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.may_end = asyncio.Event()

    async def do(self) -> int:
        self.begun += 1
        begun = self.begun
        await self.may_end.wait()
        if begun == 2:
            raise KeyError(begun)
        return begun


async def test_all_who_ask_while_it_is_under_way_have_what_it_gives_and_the_next_has_it_done_again() -> None:
    work, together = Work(), Together[str, int]()
    asking = [asyncio.create_task(together.once("a", work.do)) for _ in range(3)]
    other = asyncio.create_task(together.once("b", lambda: asyncio.sleep(0, 7)))
    await asyncio.sleep(0)
    work.may_end.set()
    assert await asyncio.gather(*asking, other) == [1, 1, 1, 7]
    failing = await asyncio.gather(*(together.once("a", work.do) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in failing] == [KeyError, KeyError] and work.begun == 2
    assert await together.once("a", work.do) == 3


async def test_one_who_is_given_up_takes_nothing_from_the_others() -> None:
    work, together = Work(), Together[str, int]()
    first, second = (asyncio.create_task(together.once("a", work.do)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work.may_end.set()
    assert await second == 1
