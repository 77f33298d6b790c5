"""Open the drivers of the configured providers. No provider is called yet, so an unreachable one does not prevent the start."""

from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import aiohttp

from services.provisioner.drivers.background_listing import PollingDriver
from services.provisioner.drivers.driver import MachineDriver
from services.provisioner.drivers.slurm.driver import SlurmDriver
from services.provisioner.providers.config import (
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


class OpenedDrivers:
    """A context with the drivers of a providers file, by name; it closes their connections.

    Args:
        file: None: no providers.
        gateway_url: Where machines join, unless the file overrides it.
        path: Search path of programs.
    """

    def __init__(self, file: Path | None, gateway_url: str, path: str, clock: Clock, chance: Random) -> None:
        self._file = file
        self._gateway_url = gateway_url
        self._path = path
        self._clock = clock
        self._chance = chance
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> dict[str, MachineDriver]:
        """Raises Rejected (`bad_providers`) if the file, or one that it names, is invalid."""
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
            raise Rejected("bad_providers", f"the providers file cannot be read: {error}") from error
        return drivers

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    def _looking(self, stack: AsyncExitStack, driver: MachineDriver) -> MachineDriver:
        looking = PollingDriver(driver, self._clock)
        stack.push_async_callback(looking.close)
        return looking

    async def _open(
        self, stack: AsyncExitStack, name: str, entry: ProviderEntry, entries: ProviderEntries
    ) -> MachineDriver:
        gateway_url = entries.gateway_url or self._gateway_url
        match entry:
            case AwsEntry():
                return await self._open_aws(stack, name, entry, entries.site, gateway_url)
            case GcpEntry():
                return await self._open_gcp(stack, name, entry, entries.site, gateway_url)
            case SlurmEntry():
                return SlurmDriver(entry.site(entries.site, gateway_url, self._path), name)
            case KubernetesEntry():
                return self._open_kubernetes(stack, name, entry, entries.site, gateway_url)

    # Each client library takes up to half a second to import, so only configured providers import theirs.

    async def _open_aws(
        self, stack: AsyncExitStack, name: str, entry: AwsEntry, site: str, gateway_url: str
    ) -> MachineDriver:
        from services.provisioner.drivers.aws.client import Ec2, open_client
        from services.provisioner.drivers.aws.driver import AwsDriver
        from services.provisioner.drivers.aws.identity import AwsIdentity, read_keys

        client = await stack.enter_async_context(open_client(entry.region, None, entry.endpoint))
        certificates = entry.identity_certificates
        identity = None if certificates is None else AwsIdentity(entry.region, read_keys(certificates))
        ec2 = Ec2(client, self._clock, self._chance)
        return AwsDriver(entry.site(site, gateway_url), ec2, name, identity)

    async def _open_gcp(
        self, stack: AsyncExitStack, name: str, entry: GcpEntry, site: str, gateway_url: str
    ) -> MachineDriver:
        from services.provisioner.drivers.gcp.api import URL, ComputeEngine
        from services.provisioner.drivers.gcp.driver import GcpDriver
        from services.provisioner.drivers.gcp.identity import GcpIdentity, keys_at
        from services.provisioner.drivers.gcp.tokens import Tokens

        session = await stack.enter_async_context(aiohttp.ClientSession())
        engine = ComputeEngine(
            session, Tokens(entry.key_file), entry.project, self._clock, self._chance, entry.endpoint or URL
        )
        identity = None
        if entry.identity_keys is not None:
            keys = keys_at(entry.identity_keys, session, self._clock)
            identity = GcpIdentity(entry.project, gateway_url.rstrip("/"), keys)
        return GcpDriver(entry.site(site, gateway_url), engine, name, identity)

    def _open_kubernetes(
        self, stack: AsyncExitStack, name: str, entry: KubernetesEntry, site: str, gateway_url: str
    ) -> MachineDriver:
        from services.provisioner.drivers.kubernetes.access import Access
        from services.provisioner.drivers.kubernetes.api import ApiServer
        from services.provisioner.drivers.kubernetes.driver import KubernetesDriver

        access = Access(entry.kubeconfig, entry.context, entry.url, entry.token_file, entry.ca_file)
        server = ApiServer(access, entry.namespace, self._clock, self._chance)
        stack.push_async_callback(server.close)
        return KubernetesDriver(entry.site(site, gateway_url), server, name)
