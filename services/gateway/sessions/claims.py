"""What a provider's claims say of a person: a name to begin with, an e-mail address that it vouches for, and groups."""

import hashlib
import re
from collections.abc import Mapping

from shared.auth.jwts import Claims

MAX_NAME_CHARS = 100
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._@+-]+")
_FIRST = re.compile(r"^[^A-Za-z0-9]+")


def names_for(claims: Claims) -> list[str]:
    """Names for a new account, the nearest first; the last of them is nobody else's."""
    mark = hashlib.sha256(f"{claims['iss']}\0{claims['sub']}".encode()).hexdigest()[:12]
    said = [claims.get("preferred_username"), verified_email(claims)]
    plain = [_FIRST.sub("", _NOT_IN_NAMES.sub("-", one)) for one in said if isinstance(one, str)]
    names = [one[:MAX_NAME_CHARS] for one in plain if one]
    first = names[0][: MAX_NAME_CHARS - 13] if names else "person"
    return [*names, f"{first}-{mark}"]


def verified_email(claims: Claims) -> str | None:
    """The address, if the provider says that it is the person's."""
    address = claims.get("email")
    return address if isinstance(address, str) and claims.get("email_verified") is True else None


def display_name(claims: Claims) -> str:
    name = claims.get("name")
    return name.replace("\0", "")[:1000] if isinstance(name, str) else ""


def fulfils(claims: Claims, required: Mapping[str, str]) -> bool:
    """True when each claim is as it must be, or a list that holds it."""
    return all(value in _listed(claims.get(name)) for name, value in required.items())


def groups_of(claims: Claims, claim: str, known: Mapping[str, str]) -> frozenset[str]:
    """Our groups that the claim's mean; others of the provider's count for nothing."""
    return frozenset(known[one] for one in _listed(claims.get(claim)) if one in known)


def _listed(value: object) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
