"""What an owner said a moment ago to the very same question: who sends many alike has it asked once."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from pydantic import BaseModel

from services.gateway.remembered.together import AHEAD_S, Together
from shared.clock import Clock
from shared.ids import TenantId
from shared.messages.base import Query

R = TypeVar("R", bound=BaseModel)
_Key = tuple[TenantId, str, bytes]
REMEMBERED_S = 2.0
_MOST = 4096


class Asks(Protocol):
    """The bus, as far as it is asked here."""

    async def ask(self, query: Query[R], tenant: TenantId, timeout_s: float) -> R: ...


@dataclass(frozen=True, slots=True)
class _Said:
    answer: BaseModel
    until_s: float


class Answered:
    """Answers of this process by tenant and question. A refusal, or no answer, is not remembered."""

    def __init__(self, bus: Asks, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock
        self._said: OrderedDict[_Key, _Said] = OrderedDict()
        self._asking: Together[_Key, BaseModel] = Together()

    async def ask(
        self,
        question: Query[R],
        tenant: TenantId,
        timeout_s: float,
        keeps: Callable[[R], bool] = lambda _: True,
    ) -> R:
        """What the owner says, or said at most two seconds ago.

        Args:
            keeps: whether an answer may be said again.
        """
        key = (tenant, question.TYPE, question.to_bytes())
        said, now_s = self._said.get(key), self._clock.monotonic()

        async def ask() -> R:
            answer = await self._bus.ask(question, tenant, timeout_s)
            self._keep(key, answer, keeps(answer))
            return answer

        if said is None or said.until_s <= now_s:
            return cast(R, await self._asking.once(key, ask))
        if said.until_s <= now_s + AHEAD_S:
            self._asking.begin(key, ask)
        return cast(R, said.answer)

    def _keep(self, key: _Key, answer: BaseModel, is_kept: bool) -> None:
        self._said.pop(key, None)
        if is_kept:
            self._said[key] = _Said(answer, self._clock.monotonic() + REMEMBERED_S)
            if len(self._said) > _MOST:
                self._said.popitem(last=False)
