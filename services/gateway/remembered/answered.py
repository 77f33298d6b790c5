"""What an owner said a moment ago to the very same question: who sends many alike has it asked once."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast

from pydantic import BaseModel

from services.gateway.remembered.together import Together
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
        said = self._said.get(key)
        if said is not None and said.until_s > self._clock.monotonic():
            return cast(R, said.answer)
        answer = cast(R, await self._asking.once(key, lambda: self._bus.ask(question, tenant, timeout_s)))
        if keeps(answer):
            self._said[key] = _Said(answer, self._clock.monotonic() + REMEMBERED_S)
            self._said.move_to_end(key)
            if len(self._said) > _MOST:
                self._said.popitem(last=False)
        return answer
