"""The operator's access to a running platform's bus, with the identity that `muster keys init` created for users with shell access."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from nats.js import JetStreamContext

from deploy.embedded.options import Options, home_to_find, load_options
from deploy.embedded.state import load_state
from deploy.keys.directory import Keys
from deploy.keys.permissions import ADMIN
from muster.errors import Rejected, Transient
from shared.bus import Bus

T = TypeVar("T")


def with_jetstream(work: Callable[[JetStreamContext], Awaitable[T]]) -> T:
    """Run a function on the platform's streams.

    Raises:
        Rejected: the operator's credentials are not here.
        Transient: no platform runs here, or its bus does not answer.
    """
    options = load_options(home=home_to_find())
    url, credentials = bus_url(options), Keys(options.keys).credentials(ADMIN)
    if not credentials.is_file():
        raise Rejected(
            "no_keys",
            f"{credentials} does not exist, and this command needs the operator's identity",
            hint="run this where the platform was started, or set MUSTER_KEYS to its key directory",
        )

    # Suppress the connection's logs, which would mix with the output.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    async def connected() -> T:
        async with await Bus.connect(url, ADMIN, credentials) as bus:
            return await work(bus.jetstream)

    return asyncio.run(connected())


def bus_url(options: Options) -> str:
    """Return the address of the platform's bus. Raises Transient if none runs here."""
    if options.nats_url:
        return options.nats_url
    state = load_state(options.home)
    ports = [part.ports[0] for part in state.parts if part.name == "nats" and part.ports] if state else []
    if state is None or not ports or not state.supervisor.is_alive():
        raise Transient(
            f"no platform runs in {options.home}; start it with `muster up`, or set MUSTER_NATS__URL"
        )
    return f"nats://127.0.0.1:{ports[0]}"
