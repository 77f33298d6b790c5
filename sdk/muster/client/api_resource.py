"""The base class of the client's resources."""

from muster.client.http.transport import Transport


class APIResource:
    """The methods of one resource over a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
