"""How long somebody who may come in no more is still taken for who it was, on a replica that knew it."""

from datetime import UTC, datetime
from typing import cast

import pytest

from services.gateway.operations.call import NOBODY, Caller
from services.gateway.sign_in.authentication import Authenticator, Presented
from services.gateway.sign_in.providers import Providers
from services.gateway.sign_in.refusals import Unauthenticated
from shared.db import Database

PROMISED_S = 2.0


class _Clock:
    now_s = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)

    def monotonic(self) -> float:
        return self.now_s


class _Known(Authenticator):
    """Its tokens are looked up in a word of the test's."""

    is_revoked = False

    async def _look_up(self, bearer: str | None, text: str, hashed: bytes) -> Caller:
        if self.is_revoked:
            raise Unauthenticated("token_revoked")
        return NOBODY


async def test_what_was_revoked_counts_for_two_seconds_at_most_where_it_was_just_used() -> None:
    clock = _Clock()
    here = _Known(cast(Database, None), b"pepper", clock, cast(Providers, None), {})
    shown = Presented("mst_x")
    await here.caller_of(shown)
    here.is_revoked = True
    clock.now_s = PROMISED_S
    with pytest.raises(Unauthenticated):
        await here.caller_of(shown)
