"""Drivers of the providers that are set up, connected. Nothing is asked of a provider yet: one that is away is no reason not to start."""

from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import aiohttp
import orjson

from services.provisioner.drivers.aws.connection import Ec2, open_client
from services.provisioner.drivers.aws.driver import AwsDriver
from services.provisioner.drivers.aws.identity import AwsIdentity, read_keys
from services.provisioner.drivers.base import Driver
from services.provisioner.drivers.gcp import api as gcp
from services.provisioner.drivers.gcp.driver import GcpDriver
from services.provisioner.drivers.gcp.identity import GcpIdentity, keys_at
from services.provisioner.drivers.gcp.tokens import SCOPE, AccountKey, MachineAccount, Source, Tokens
from services.provisioner.drivers.kubernetes.api import Access, ApiServer, open_session
from services.provisioner.drivers.kubernetes.driver import KubernetesDriver
from services.provisioner.drivers.looking import LookingDriver
from services.provisioner.drivers.slurm.driver import SlurmDriver
from services.provisioner.providers.entries import (
    AwsEntry,
    GcpEntry,
    KubernetesEntry,
    ProviderEntries,
    ProviderEntry,
    SlurmEntry,
    read_providers,
)
from shared.clock import Clock
from shared.errors import Rejected

POD_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
POD_API = "https://kubernetes.default.svc"


class OpenedDrivers:
    """The drivers of a providers' file, by name; a context, which closes their connections.

    Args:
        file: None: there are none.
        gateway_url: Where machines join, unless the file says otherwise.
        path: Where programs are looked for.
    """

    def __init__(self, file: Path | None, gateway_url: str, path: str, clock: Clock, chance: Random) -> None:
        self._file = file
        self._gateway_url = gateway_url
        self._path = path
        self._clock = clock
        self._chance = chance
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> dict[str, Driver]:
        """Raises Rejected (`bad_providers`) where the file, or one that it names, is wrong."""
        if self._file is None:
            return {}
        try:
            entries = read_providers(self._file.read_text())
            async with AsyncExitStack() as stack:
                drivers = {
                    name: self._looking(stack, await self._open(stack, name, entry, entries))
                    for name, entry in entries.providers.items()
                }
                self._stack = stack.pop_all()
        except OSError as error:
            raise Rejected("bad_providers", f"the providers' file cannot be read: {error}") from error
        return drivers

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    def _looking(self, stack: AsyncExitStack, driver: Driver) -> Driver:
        looking = LookingDriver(driver, self._clock)
        stack.push_async_callback(looking.close)
        return looking

    async def _open(
        self, stack: AsyncExitStack, name: str, entry: ProviderEntry, entries: ProviderEntries
    ) -> Driver:
        gateway_url = entries.gateway_url or self._gateway_url
        match entry:
            case AwsEntry():
                client = await stack.enter_async_context(open_client(entry.region, None, entry.endpoint))
                identity = identity_of(entry)
                ec2 = Ec2(client, self._clock, self._chance)
                return AwsDriver(entry.site(entries.site, gateway_url), ec2, name, identity)
            case GcpEntry():
                session = await stack.enter_async_context(aiohttp.ClientSession())
                tokens = Tokens(source_of(entry), self._clock)
                url = entry.endpoint or gcp.URL
                engine = gcp.ComputeEngine(session, tokens, entry.project, self._clock, self._chance, url)
                trusted = gcp_identity_of(entry, gateway_url, session, self._clock)
                return GcpDriver(entry.site(entries.site, gateway_url), engine, name, trusted)
            case SlurmEntry():
                return SlurmDriver(entry.site(entries.site, gateway_url, self._path), name)
            case KubernetesEntry():
                access = access_of(entry)
                session = await stack.enter_async_context(open_session(access))
                server = ApiServer(session, access, entry.namespace, self._clock, self._chance)
                return KubernetesDriver(entry.site(entries.site, gateway_url), server, name)


def identity_of(entry: AwsEntry) -> AwsIdentity | None:
    """By what its machines join, where the site has pinned AWS's certificates."""
    certificates = entry.identity_certificates
    return None if certificates is None else AwsIdentity(entry.region, read_keys(certificates))


def gcp_identity_of(
    entry: GcpEntry, gateway_url: str, session: aiohttp.ClientSession, clock: Clock
) -> GcpIdentity | None:
    """By what its machines join, where the site has named Google's keys. Raises Rejected (`bad_providers`) where they cannot be read there."""
    if entry.identity_keys is None:
        return None
    keys = keys_at(entry.identity_keys, session, clock)
    return GcpIdentity(entry.project, gateway_url.rstrip("/"), keys)


def access_of(entry: KubernetesEntry) -> Access:
    """How its cluster is reached: as a pod of it, unless an address is given."""
    if entry.url is not None:
        return Access(entry.url, entry.token_file, entry.ca_file)
    return Access(POD_API, entry.token_file or POD_ACCOUNT / "token", entry.ca_file or POD_ACCOUNT / "ca.crt")


def source_of(entry: GcpEntry, scope: str = SCOPE) -> Source:
    """Whose tokens a project is asked with, and for what."""
    if entry.key_file is None:
        return MachineAccount()
    try:
        key = orjson.loads(entry.key_file.read_bytes())
        return AccountKey(key["client_email"], key["private_key"], key["token_uri"], scope)
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        message = f"{entry.key_file} is no key of a service account: {error!r}"
        raise Rejected("bad_providers", message, "key_file") from error
