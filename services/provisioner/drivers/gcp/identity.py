"""Which instance a machine is, by the identity token that Google signs for it (Compute Engine, "Verify the identity of a VM").

The token is made for this platform and counts an hour; whether it lets anybody in is decided by who knows the instance (`queries/identities`).
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
from shared.auth.jwts import Expected, NotValid
from shared.auth.keysets import KeySet
from shared.clock import Clock
from shared.errors import Rejected, Transient

ISSUER = "https://accounts.google.com"


class _Machine(BaseModel):
    project_id: str
    zone: str
    instance_name: str


class _Engine(BaseModel):
    compute_engine: _Machine


class _Told(BaseModel):
    """What a token of format `full` has beyond whom it is for."""

    google: _Engine


@dataclass(frozen=True, slots=True)
class GcpIdentity:
    """What Google signs of a project's machines for an audience, by the keys that the site has named."""

    project: str
    audience: str
    keys: KeySet

    async def machine_of(self, document: str, signature: str) -> str:
        """As the port says: zone and name, which no two machines of a project share at a time, and ours never again. The token bears its signature."""
        try:
            if not jwts.is_jwt(document):
                raise NotValid("no token")
            told = await self.keys.verify(document, Expected(ISSUER, self.audience))
            machine = _Told.model_validate(told).google.compute_engine
        except NotValid as error:
            raise _not_ours(f"Google's token of it does not count here: {error}") from None
        except ValidationError:
            raise _not_ours("Google's token says nothing of it") from None
        if machine.project_id != self.project:
            raise _not_ours(f"it is in project {machine.project_id}, and its provider is {self.project}")
        return f"{machine.zone}/{machine.instance_name}"


def keys_at(place: str, session: aiohttp.ClientSession, clock: Clock) -> KeySet:
    """Google's keys as they are at an address, or in a file of the site. Raises Rejected (`bad_providers`) where the file holds none."""
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
        raise Transient(f"{url} answered with status {answer.status} and no keys")
    return answer.content


def _read(file: Path) -> Mapping[str, Any]:
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise Transient(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict) or not found.get("keys"):
        raise Transient(f"{file} holds no keys (a JWKS is awaited)")
    return found


def _not_ours(why: str) -> Rejected:
    return Rejected("bad_identity", f"this machine is not known by what its provider says of it: {why}")
