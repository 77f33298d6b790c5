"""The same question is asked once in a while; what was refused, or is not to be kept, is asked again."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from muster.errors import Rejected
from services.gateway.remembered.answered import REMEMBERED_S, Answered
from shared.ids import DEFAULT_TENANT, SITE, TenantId
from shared.messages.experiments import Accepted, ValidateConfig
from shared.messages.files import GetUploadUrl, UploadTarget

ONE, OTHER = ValidateConfig(config={"name": "one"}), ValidateConfig(config={"name": "other"})
CODE = GetUploadUrl(sha256="a" * 64, size_bytes=1)


class Owner:
    """Answers in turn what it is given."""

    def __init__(self, *answers: BaseModel | Exception) -> None:
        self.answers = list(answers)
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    async def ask(self, query: Any, tenant: TenantId, timeout_s: float) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def accepted(word: str) -> Accepted:
    return Accepted(warnings=(word,))


async def test_the_same_question_of_the_same_tenant_is_asked_once_in_two_seconds() -> None:
    owner = Owner(accepted("first"), accepted("other's"), accepted("of the site"), accepted("later"))
    answered = Answered(owner, owner)  # type: ignore[arg-type]
    said = [await answered.ask(ONE, DEFAULT_TENANT, 1.0) for _ in range(2)]
    said += [await answered.ask(OTHER, DEFAULT_TENANT, 1.0), await answered.ask(ONE, SITE, 1.0)]
    said += [await answered.ask(ONE, DEFAULT_TENANT, 1.0)]
    assert [one.warnings[0] for one in said] == ["first", "first", "other's", "of the site", "first"]
    owner.now_s = REMEMBERED_S
    assert (await answered.ask(ONE, DEFAULT_TENANT, 1.0)).warnings == ("later",)


async def test_who_asks_shortly_before_an_answer_is_old_has_it_asked_anew_and_waits_for_nothing() -> None:
    owner = Owner(accepted("first"), accepted("second"), Rejected("wrong", "it is wrong now"))
    answered = Answered(owner, owner)  # type: ignore[arg-type]

    async def said_at(now_s: float) -> tuple[str, ...]:
        owner.now_s = now_s
        found = await answered.ask(ONE, DEFAULT_TENANT, 1.0)
        await asyncio.sleep(0)
        return found.warnings

    assert [await said_at(0.0), await said_at(1.0), await said_at(1.9)] == [("first",)] * 3
    assert [await said_at(2.1), await said_at(3.3), await said_at(3.8)] == [("second",)] * 3
    assert not owner.answers, "nobody asked again"
    owner.answers.append(Rejected("wrong", "it is wrong now"))
    with pytest.raises(Rejected):
        await said_at(3.9)


async def test_a_refusal_is_not_remembered() -> None:
    owner = Owner(Rejected("wrong", "it is wrong"), accepted("mended"))
    answered = Answered(owner, owner)  # type: ignore[arg-type]
    with pytest.raises(Rejected):
        await answered.ask(ONE, DEFAULT_TENANT, 1.0)
    assert (await answered.ask(ONE, DEFAULT_TENANT, 1.0)).warnings == ("mended",)


async def test_code_that_is_missing_is_asked_for_again_and_code_that_is_there_is_not() -> None:
    owner = Owner(UploadTarget(known=False), UploadTarget(known=True))
    answered = Answered(owner, owner)  # type: ignore[arg-type]
    told = [await answered.ask(CODE, DEFAULT_TENANT, 1.0, lambda one: one.known) for _ in range(3)]
    assert [one.known for one in told] == [False, True, True]
