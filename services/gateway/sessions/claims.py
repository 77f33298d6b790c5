"""Reads account names, verified e-mail addresses and groups from a provider's claims."""

import hashlib
import re
from collections.abc import Mapping

from shared.auth.jwts import Claims

MAX_NAME_CHARS = 100
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._@+-]+")
_FIRST = re.compile(r"^[^A-Za-z0-9]+")


def names_for(claims: Claims) -> list[str]:
    """Return candidate names for a new account, best first. The last one is unique to the subject."""
    mark = hashlib.sha256(f"{claims['iss']}\0{claims['sub']}".encode()).hexdigest()[:12]
    claimed = [claims.get("preferred_username"), verified_email(claims)]
    plain = [_FIRST.sub("", _NOT_IN_NAMES.sub("-", one)) for one in claimed if isinstance(one, str)]
    names = [one[:MAX_NAME_CHARS] for one in plain if one]
    first = names[0][: MAX_NAME_CHARS - 13] if names else "person"
    return [*names, f"{first}-{mark}"]


def verified_email(claims: Claims) -> str | None:
    """Return the e-mail address if the provider has verified it."""
    address = claims.get("email")
    return address if isinstance(address, str) and claims.get("email_verified") is True else None


def display_name(claims: Claims) -> str:
    name = claims.get("name")
    return name.replace("\0", "")[:1000] if isinstance(name, str) else ""


def fulfils(claims: Claims, required: Mapping[str, str]) -> bool:
    """True if each claim equals the required value or is a list that contains it."""
    return all(value in _listed(claims.get(name)) for name, value in required.items())


def groups_of(claims: Claims, claim: str, known: Mapping[str, str]) -> frozenset[str]:
    """Map the provider's groups in the claim to groups of the tenant. Unmapped groups are ignored."""
    return frozenset(known[one] for one in _listed(claims.get(claim)) if one in known)


def _listed(value: object) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
