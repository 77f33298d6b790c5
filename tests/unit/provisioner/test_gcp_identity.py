"""A machine is the instance of our project that Google has signed it to be, for this platform, with keys that the site has named."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from services.provisioner.drivers.gcp.identity import ISSUER, GcpIdentity, keys_at
from shared.auth.jwks import ASKED_AGAIN_S, KEPT_S
from shared.errors import Rejected, Transient
from tests.support.oidc_provider import SigningKey

NOW = 1_900_000_000.0
PLATFORM = "https://muster.example"
KEY, NEXT = SigningKey("one"), SigningKey("next")


@dataclass
class Stopped:
    passed_s: float = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(NOW + self.passed_s, UTC)

    def monotonic(self) -> float:
        return self.passed_s


@dataclass
class Google:
    """Keys in a file of the site, and who verifies with them."""

    file: Path
    clock: Stopped = field(default_factory=Stopped)

    def shows(self, *keys: SigningKey) -> None:
        self.file.write_text(json.dumps({"keys": [key.document for key in keys]}))

    def identity(self) -> GcpIdentity:
        session: Any = None  # nothing is asked outside
        return GcpIdentity("research", PLATFORM, keys_at(str(self.file), session, self.clock))


@pytest.fixture
def google(tmp_path: Path) -> Google:
    found = Google(tmp_path / "keys.json")
    found.shows(KEY)
    return found


def claims(**engine: str) -> dict[str, Any]:
    """As `format=full` has them."""
    of_machine = {"project_id": "research", "zone": "us-central1-a", "instance_name": "w-1", **engine}
    named = {"iss": ISSUER, "aud": PLATFORM, "sub": "1234", "azp": "1234"}
    return {**named, "iat": int(NOW), "exp": int(NOW) + 3600, "google": {"compute_engine": of_machine}}


async def test_the_instance_is_the_one_that_was_signed(google: Google) -> None:
    assert await google.identity().machine_of(KEY.sign(claims()), "") == "us-central1-a/w-1"


@pytest.mark.parametrize(
    "shown",
    [
        KEY.sign(claims() | {"aud": "https://elsewhere.example"}),
        KEY.sign(claims() | {"iss": "https://accounts.example"}),
        KEY.sign(claims() | {"exp": int(NOW) - 60}),
        KEY.sign(claims(project_id="another")),
        KEY.sign({name: said for name, said in claims().items() if name != "google"}),
        KEY.sign(claims() | {"google": "w-1"}),
        SigningKey("one").sign(claims()),
        NEXT.sign(claims()),
        "",
        "no.to.ken",
    ],
    ids=["audience", "issuer", "old", "project", "bare", "odd", "forged", "unknown key", "nothing", "noise"],
)
async def test_what_was_not_signed_so_is_refused(google: Google, shown: str) -> None:
    with pytest.raises(Rejected) as refused:
        await google.identity().machine_of(shown, "")
    assert refused.value.code == "bad_identity"


async def test_keys_may_change_and_are_kept_while_they_cannot_be_had(google: Google) -> None:
    identity = google.identity()
    assert await identity.machine_of(KEY.sign(claims()), "")
    google.shows(NEXT)
    google.clock.passed_s += ASKED_AGAIN_S
    assert await identity.machine_of(NEXT.sign(claims()), "")
    google.clock.passed_s += ASKED_AGAIN_S
    with pytest.raises(Rejected):
        await identity.machine_of(KEY.sign(claims()), "")
    google.file.unlink()
    google.clock.passed_s += KEPT_S - 1
    assert await identity.machine_of(NEXT.sign(claims()), "")
    google.clock.passed_s += ASKED_AGAIN_S + 2
    with pytest.raises(Transient):
        await identity.machine_of(NEXT.sign(claims()), "")


async def test_a_file_without_keys_is_told(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    async with ClientSession() as session:
        for content in (None, "{}", "no JSON"):
            if content is not None:
                file.write_text(content)
            with pytest.raises(Rejected, match=r"keys\.json") as refused:
                keys_at(str(file), session, Stopped())
            assert refused.value.place == "identity_keys"
