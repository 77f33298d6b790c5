"""The file that says who vouches for whom: providers (OpenID Connect) of tenants, and client certificates of programs. `docs/sign-in.md` shows one."""

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
    """One provider of one tenant; what it says counts there and nowhere else."""

    tenant: Line
    issuer: Line
    client_id: Line | None = None
    client_secret_file: Path | None = None
    redirects: tuple[Line, ...] = ()
    """Where a browser may be sent back to, sign by sign."""
    loopback: bool = True
    """People may sign in from the command line: the browser is sent back to a port of their own machine."""
    label: Line | None = None
    """What everybody who comes to the sign-in page is shown of it; without it nobody is told that it is there."""
    scope: Line = "openid profile email"
    audience: Line | None = None
    """For whom tokens of programs must be made; without it none is taken."""
    new_people: bool = False
    """Who signs in and is not known yet gets an account."""
    default_role: Line | None = None
    """What such an account may do on the tenant; without it nothing."""
    link_by_email: bool = False
    """An account whose name is the address that the provider has verified is that person's."""
    required_claims: dict[str, str] = {}
    """Nobody else is let in."""
    groups_claim: Line = "groups"
    groups: dict[str, str] = {}
    """The provider's groups and ours that they mean; in these, members are who the provider says."""
    networks: tuple[IPvAnyNetwork, ...] = ()
    """Internal networks in which its description, its keys and its tokens may be asked for; else they are fetched from the internet alone."""

    @property
    def reachable(self) -> tuple[Network, ...]:
        """Where inside it may be asked: a provider on this machine is named as one by its issuer."""
        here = urlsplit(self.issuer).hostname in LOOPBACK
        return (*self.networks, *(_HERE if here else ()))

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for address in (self.issuer, *self.redirects):
            check_address(address)
        if self.client_id is None and self.audience is None:
            raise ValueError("name a client_id for people, an audience for programs, or both")
        if self.client_id == self.audience:
            raise ValueError(
                "audience must not be the client_id: what says who a person is would open the API"
            )
        if self.default_role is not None and (
            self.default_role not in ROLES or self.default_role == OPERATOR
        ):
            raise ValueError(f"default_role: one of {', '.join(one for one in ROLES if one != OPERATOR)}")
        return self


class CertificateSection(Section):
    """Whose a client certificate is."""

    tenant: Line
    user: Line


class SignInSection(Section):
    """The whole file."""

    providers: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")], ProviderSection] = {}
    certificates: dict[Line, CertificateSection] = {}
    """By the URI that the certificate names its owner with, e.g. `spiffe://acme/ci`."""

    @model_validator(mode="after")
    def _told_apart(self) -> Self:
        programs = [(one.issuer, one.audience) for one in self.providers.values() if one.audience]
        if len(set(programs)) < len(programs):
            raise ValueError(
                "two providers have the same issuer and audience: a token's tenant would be open"
            )
        return self


def load_sign_in(path: Path | None) -> SignInSection:
    """What the file says; nothing where there is none.

    Raises:
        Rejected: it cannot be read, or says what cannot be (`bad_settings`).
    """
    if path is None:
        return SignInSection()
    try:
        return SignInSection.model_validate(yaml.safe_load(path.read_text()) or {})
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        said = "; ".join(f"{'.'.join(map(str, one['loc'])) or 'file'}: {one['msg']}" for one in faults)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = str(error)
    raise Rejected("bad_settings", f"{path}: {said}", SETTING)


def check_address(address: str) -> None:
    """Raises ValueError for what is not encrypted, but on this machine."""
    parts = urlsplit(address)
    plain = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not (parts.scheme == "https" or plain) or not parts.hostname or parts.username or parts.fragment:
        raise ValueError(f"{address} is no https address")
