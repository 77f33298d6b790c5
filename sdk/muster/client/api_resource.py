"""The base class of the client's resources."""

from muster.client.http.transport import Transport


class APIResource:
    """Base class of the client's resources, over one transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
