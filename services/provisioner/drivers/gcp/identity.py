"""Identify a machine by the identity token that Google signs (Compute Engine, "Verify the identity of a VM").

The token is issued for this platform and valid for an hour; `queries/identities` decides what it permits.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from pydantic import BaseModel, ValidationError

from services.provisioner.drivers.rest import HttpRequest, exchange
from shared.auth import jwts
from shared.auth.jwks import KeySet
from shared.auth.jwts import Expected, NotValid
from shared.clock import Clock
from shared.errors import Rejected, Transient

ISSUER = "https://accounts.google.com"


class _Machine(BaseModel):
    project_id: str
    zone: str
    instance_name: str


class _Engine(BaseModel):
    compute_engine: _Machine


class _Claims(BaseModel):
    """Claims of a token of format `full` besides its audience."""

    google: _Engine


@dataclass(frozen=True, slots=True)
class GcpIdentity:
    """Verifies tokens of a project's machines for an audience, with the configured keys."""

    project: str
    audience: str
    keys: KeySet

    async def machine_of(self, document: str, signature: str) -> str:
        """Return zone and name, which are unique among a project's machines and never reused by us. The token includes its signature."""
        try:
            if not jwts.is_jwt(document):
                raise NotValid("no token")
            claims = await self.keys.verify(document, Expected(ISSUER, self.audience))
            machine = _Claims.model_validate(claims).google.compute_engine
        except NotValid as error:
            raise _not_ours(f"its Google identity token is not valid here: {error}") from None
        except ValidationError:
            raise _not_ours("its Google identity token does not describe a Compute Engine machine") from None
        if machine.project_id != self.project:
            raise _not_ours(f"its project is {machine.project_id}, but the provider's is {self.project}")
        return f"{machine.zone}/{machine.instance_name}"


def keys_at(place: str, session: aiohttp.ClientSession, clock: Clock) -> KeySet:
    """Return Google's keys from an address or a file. Raises Rejected (`bad_providers`) if the file has none."""
    if place.startswith("https://"):
        return KeySet(place, partial(_fetch, session, place), clock)
    file = Path(place)
    try:
        _read(file)
    except Transient as error:
        raise Rejected("bad_providers", error.message, "identity_keys") from error
    return KeySet(place, partial(asyncio.to_thread, _read, file), clock)


async def _fetch(session: aiohttp.ClientSession, url: str) -> Mapping[str, Any]:
    answer = await exchange(session, HttpRequest("GET", url, {"Accept": "application/json"}), "Google")
    if answer.status != 200:
        raise Transient(f"{url} returned status {answer.status} instead of keys")
    return answer.content


def _read(file: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise Transient(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict) or not found.get("keys"):
        raise Transient(f"{file} contains no keys (expected a JWKS)")
    return found


def _not_ours(why: str) -> Rejected:
    return Rejected("bad_identity", f"the machine's identity document is not valid here: {why}")
