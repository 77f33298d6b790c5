"""Names of servers, resolved as processes of this machine would."""

import socket

from deploy.checks.findings import Finding, error, ok
from deploy.checks.servers.endpoints import Endpoint

WHY = "Processes find servers by these names."


def check_name(endpoint: Endpoint) -> Finding:
    """Resolve the host of a server."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as failure:
        return error(
            f"{endpoint.host} is not found: {failure}",
            f"correct {endpoint.setting}, or add the name to DNS or /etc/hosts; /etc/resolv.conf names this machine's resolvers",
        )
    return ok(f"{endpoint.host} is {', '.join(sorted({str(address[0]) for *_, address in found}))}")
