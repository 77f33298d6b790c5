"""Three NATS servers with the platform's identities and replicated streams, of which tests kill some."""

from collections.abc import Sequence
from pathlib import Path

import nats

from deploy.embedded.host.ports import LOOPBACK, free_ports
from deploy.embedded.servers import Home, NatsServer
from deploy.keys.directory import Keys
from deploy.keys.permissions import ADMIN, inbox
from shared.bus.keeping import ensure_bus
from tests.support.waiting import eventually

NODES = 3


class Node(NatsServer):
    """One server of the cluster, with a folder of its own."""

    def __init__(self, home: Home, port: int, keys: Keys, route: int, routes: Sequence[int]) -> None:
        super().__init__(home, port, keys)
        self._route = route
        self._routes = routes

    def _configuration(self) -> str:
        routes = ", ".join(f'"nats://{LOOPBACK}:{port}"' for port in self._routes)
        return super()._configuration().replace('server_name: "muster"', f'server_name: "n{self._route}"') + (
            f'\ncluster {{ name: "tests", listen: "{LOOPBACK}:{self._route}", routes: [{routes}] }}\n'
        )


class BusCluster:
    """The servers, in the order of their start."""

    def __init__(self, root: Path, keys: Keys) -> None:
        ports = free_ports(2 * NODES)
        routes = ports[NODES:]
        self._keys = keys
        self.nodes: list[Node] = []
        for number, (port, route) in enumerate(zip(ports[:NODES], routes, strict=True)):
            home = Home(root / f"n{number}")
            home.make()
            self.nodes.append(Node(home, port, keys, route, routes))

    @property
    def url(self) -> str:
        """As services are given it: all servers, so that they find one that lives."""
        return ",".join(node.url for node in self.nodes)

    async def start(self) -> None:
        """Start the servers, and create the streams on all three."""
        for node in self.nodes:
            node.prepare()
            node.start()
        for node in self.nodes:
            node.wait_ready()

        async def has_streams() -> bool:
            client = await nats.connect(
                self.nodes[0].url,
                user_credentials=str(self._keys.credentials(ADMIN)),
                inbox_prefix=inbox(ADMIN).encode(),
            )
            try:
                await ensure_bus(client.jetstream(timeout=5), replicas=NODES)
            except nats.errors.Error:
                return False  # no leader has been elected yet
            finally:
                await client.close()
            return True

        await eventually(has_streams, every_s=0.5)

    def start_again(self, node: Node) -> None:
        """Start a killed server with its data."""
        node.prepare()
        node.start()
        node.wait_ready()

    def close(self) -> None:
        for node in self.nodes:
            node.stop()
