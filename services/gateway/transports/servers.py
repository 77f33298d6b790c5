"""Starts and stops the REST and gRPC servers, with or without TLS. `service` builds their dependencies, starts them last and stops them first."""

import asyncio
from datetime import timedelta

import structlog
from aiohttp import web

from services.gateway.operation_table import OPERATIONS
from services.gateway.platform.dispatch import Dispatcher
from services.gateway.platform.events.feed import Feed
from services.gateway.settings import GatewaySection
from services.gateway.transports.grpc.server import Rpc
from services.gateway.transports.rest.app import Rest, RestSettings
from services.gateway.transports.rest.connections import ConnectionLimits, listen, most_connections
from services.gateway.transports.rest.dashboard import load_dashboard
from services.gateway.transports.rest.package_index import PackageIndex
from services.gateway.transports.tls import Tls, TlsFiles
from shared.runtime.loops import repeat
from shared.runtime.process import ServiceProcess

_CERTIFICATES_EVERY = timedelta(seconds=5)
_CLOSE_S = 3.0
_log = structlog.get_logger()


class Servers:
    """The REST and gRPC servers. They start last and stop first, so that the commits of the last requests are still published."""

    def __init__(self, dispatcher: Dispatcher, own: GatewaySection, feed: Feed, tls: Tls | None) -> None:
        self._own = own
        self._tls = tls
        self._feed = feed
        body_s, dashboard = own.body_timeout_s, load_dashboard(own.web_directory)
        hosts = frozenset(own.allowed_hosts)
        packages = PackageIndex(own.packages_directory) if own.packages_directory else None
        limits = RestSettings(hosts, body_s, body_s, own.max_code_bytes, own.proxies, dashboard, packages)
        self._rest = Rest(dispatcher, limits)
        self._rpc = Rpc(dispatcher, own.proxies)
        self._closing = asyncio.Event()

    async def open(self) -> None:
        """Open the ports. Raises OSError if a port is in use."""
        own = self._own
        self._runner = web.AppRunner(
            self._rest.application(OPERATIONS), handler_cancellation=True, shutdown_timeout=_CLOSE_S
        )
        await self._runner.setup()
        limits = ConnectionLimits(most_connections(own.max_connections), own.keep_alive_s)
        context = self._tls.context if self._tls else None
        refuse = self._rest.refuse_malformed
        self._site = await listen(self._runner, (own.host, own.port), context, limits, refuse)
        credentials = self._tls.credentials() if self._tls else None
        self._server, port = self._rpc.server(OPERATIONS, f"{own.host}:{own.grpc_port}", credentials)
        await self._server.start()
        await self._rpc.show_serving(True)
        _log.info("serving", rest_port=own.port, grpc_port=port, operations=len(OPERATIONS))

    async def run(self) -> None:
        """Serve until `close`; then stop accepting calls, end streams, and answer the calls in progress."""
        await self._closing.wait()
        await self._rpc.show_serving(False)
        self._feed.end()
        self._site.close()
        await asyncio.gather(self._runner.cleanup(), self._server.stop(_CLOSE_S))

    async def close(self) -> None:
        self._closing.set()

    def start(self, process: ServiceProcess) -> None:
        """Run the servers until the process stops."""
        if self._tls is not None:
            tls = self._tls
            process.start("certificates", lambda: repeat(tls.refresh, _CERTIFICATES_EVERY))
        process.start("servers", self.run, self.close)


def tls_of(own: GatewaySection) -> Tls | None:
    """Load the TLS settings; None without TLS."""
    if own.tls_certificate_file is None or own.tls_key_file is None:
        return None
    return Tls(TlsFiles(own.tls_certificate_file, own.tls_key_file, own.client_ca_file))
