"""The sign-in file: OpenID Connect providers of tenants, and client certificates of programs. `docs/sign-in.md` has an example."""

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import yaml
from pydantic import Field, IPvAnyNetwork, ValidationError, model_validator

from muster.errors import Rejected
from services.gateway.platform.auth.permissions import OPERATOR, ROLES
from services.gateway.platform.outbound.addresses import Network
from shared.settings import LOOPBACK, Section

SETTING = "MUSTER_GATEWAY__SIGN_IN_FILE"
_HERE = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
Line = Annotated[str, Field(min_length=1, max_length=500)]


class ProviderSection(Section):
    """A provider of one tenant. Its claims apply to that tenant only."""

    tenant: Line
    issuer: Line
    client_id: Line | None = None
    client_secret_file: Path | None = None
    redirects: tuple[Line, ...] = ()
    """Allowed redirect addresses, which must match exactly."""
    loopback: bool = True
    """Allow sign-in from the command line, with a redirect to a port of the person's machine."""
    label: Line | None = None
    """Label on the sign-in page. Without one, the provider is not listed."""
    scope: Line = "openid profile email"
    audience: Line | None = None
    """Required audience of programs' tokens. Without one, tokens of programs are rejected."""
    new_people: bool = False
    """Create an account for people who sign in for the first time."""
    default_role: Line | None = None
    """Role of such an account on the tenant. Without one, it has no role."""
    link_by_email: bool = False
    """Link a person to the account whose name is the e-mail address that the provider has verified."""
    required_claims: dict[str, str] = {}
    """Claims that a person must have to sign in."""
    groups_claim: Line = "groups"
    groups: dict[str, str] = {}
    """Maps the provider's groups to groups of the tenant. The provider decides the membership of these groups."""
    networks: tuple[IPvAnyNetwork, ...] = ()
    """Internal networks where the provider's endpoints may be. Without any, they must be on the internet."""

    @property
    def reachable(self) -> tuple[Network, ...]:
        """The internal networks that may be called. An issuer on this machine allows the loopback network."""
        here = urlsplit(self.issuer).hostname in LOOPBACK
        return (*self.networks, *(_HERE if here else ()))

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for address in (self.issuer, *self.redirects):
            check_address(address)
        if self.client_id is None and self.audience is None:
            raise ValueError("set client_id for people, audience for programs, or both")
        if self.client_id == self.audience:
            raise ValueError(
                "audience must differ from client_id: otherwise a person's ID token would give access to the API"
            )
        if self.default_role is not None and (
            self.default_role not in ROLES or self.default_role == OPERATOR
        ):
            raise ValueError(f"default_role: one of {', '.join(one for one in ROLES if one != OPERATOR)}")
        return self


class CertificateSection(Section):
    """The user of a client certificate."""

    tenant: Line
    user: Line


class SignInSection(Section):
    """The contents of the sign-in file."""

    providers: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")], ProviderSection] = {}
    certificates: dict[Line, CertificateSection] = {}
    """Users by the URI in their certificate, e.g. `spiffe://acme/ci`."""

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        programs = [(one.issuer, one.audience) for one in self.providers.values() if one.audience]
        if len(set(programs)) < len(programs):
            raise ValueError(
                "two providers have the same issuer and audience, so the tenant of a token would be ambiguous"
            )
        return self


def load_sign_in(path: Path | None) -> SignInSection:
    """Load the sign-in file; without a path, return empty settings.

    Raises:
        Rejected: the file cannot be read or is not valid (`bad_settings`).
    """
    if path is None:
        return SignInSection()
    try:
        return SignInSection.model_validate(yaml.safe_load(path.read_text()) or {})
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        problem = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'file'}: {one['msg']}" for one in faults)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = str(error)
    raise Rejected("bad_settings", f"{path}: {problem}", SETTING)


def check_address(address: str) -> None:
    """Raise ValueError unless the address uses https, or http on this machine."""
    parts = urlsplit(address)
    plain = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not (parts.scheme == "https" or plain) or not parts.hostname or parts.username or parts.fragment:
        raise ValueError(f"{address} is not an https address")
