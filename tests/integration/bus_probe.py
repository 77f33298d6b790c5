"""An identity's connection to the bus, and what it was refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from nats.aio.client import Client

from deploy.embedded.servers import NatsServer
from deploy.keys.permissions import inbox


class Probe:
    """A connection that remembers what the server refused."""

    def __init__(self) -> None:
        self.client = Client()
        self.refused: list[str] = []

    async def on_error(self, error: Exception) -> None:
        self.refused.append(str(error).lower())

    async def may(self, action: str, subject: str) -> bool:
        """Whether the server lets this identity publish or hear the subject."""
        self.refused.clear()
        if action == "publish":
            await self.client.publish(subject, b"{}")
        else:
            subscription = await self.client.subscribe(subject)
        await self.client.flush()
        await self.client.flush()  # the first ping overtakes what was pending
        if action != "publish" and not self.refused:
            await subscription.unsubscribe()
        return not [line for line in self.refused if subject.lower() in line]


@asynccontextmanager
async def connected(server: NatsServer, identity: str, credentials: Path) -> AsyncIterator[Probe]:
    probe = Probe()
    await probe.client.connect(
        server.url,
        user_credentials=str(credentials),
        inbox_prefix=inbox(identity).encode(),
        error_cb=probe.on_error,
        allow_reconnect=False,
    )
    yield probe
    await probe.client.close()
