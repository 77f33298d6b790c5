"""What every noun of the client is."""

from muster.client.http.transport import Transport


class Noun:
    """The calls of one noun, all by one transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
