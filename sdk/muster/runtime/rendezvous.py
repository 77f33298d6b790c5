"""The rendezvous of one run, in its own process on the chief, bound to the gang's address only.

Neither Horovod's nor PyTorch's rendezvous authenticates clients: anyone who reaches the port can read and write what ranks
exchange. It therefore runs only as long as the run, on one address, and several machines need a private network.
"""

import os
import signal
import socket
import socketserver
from typing import NoReturn

from muster.runtime import isolation
from muster.runtime.sandbox.sandboxes import Sandbox, drop_to
from muster.wire import OpenRendezvous

_BACKLOG = 512


def serve(request: OpenRendezvous, port_pipe: int, sandbox: Sandbox | None) -> NoReturn:
    """Serve until killed; write the port to `port_pipe` as text, or a failure as `error: …`."""
    try:
        if sandbox is not None:
            sandbox.enter()
            drop_to(sandbox.user)
        os.closerange(3, port_pipe)
        os.closerange(port_pipe + 1, 1 << 20)
        isolation.reset_signals()
        isolation.drop_privileges(None, None)
        if request.backend == "torch":
            _hold_store(request, port_pipe)
        else:
            _serve_horovod(request, port_pipe)
    except BaseException as error:  # the fork must end here in any case
        os.write(port_pipe, f"error: {error!r}".encode())
    finally:
        os._exit(1)


def _hold_store(request: OpenRendezvous, port_pipe: int) -> None:
    """Serve a store that ranks join as under `torchrun`. By default it would listen on all addresses."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    family = socket.AF_INET6 if ":" in request.address else socket.AF_INET
    with socket.create_server((request.address, 0), family=family, backlog=_BACKLOG) as listener:
        port = listener.getsockname()[1]
        descriptor = listener.detach()
    store = TCPStore(
        request.address, port, is_master=True, wait_for_workers=False, master_listen_fd=descriptor
    )
    _write_port(store.port, port_pipe)
    while True:
        signal.pause()


def _serve_horovod(request: OpenRendezvous, port_pipe: int) -> None:
    from horovod.runner.common.util.hosts import (
        get_host_assignments,
        parse_hosts,
    )
    from horovod.runner.http.http_server import (
        RendezvousHandler,
        RendezvousHTTPServer,
    )

    class Server(RendezvousHTTPServer):  # type: ignore[misc]
        request_queue_size = _BACKLOG

        def server_bind(self) -> None:
            # HTTPServer would resolve its own name by DNS, which can take seconds.
            socketserver.TCPServer.server_bind(self)
            self.server_name, self.server_port = self.server_address[:2]

    server = Server((request.address, 0), RendezvousHandler, 0)
    server.init(get_host_assignments(parse_hosts(request.hosts), request.size, request.size))
    _write_port(server.server_port, port_pipe)
    server.serve_forever(poll_interval=3600)


def _write_port(port: int, pipe: int) -> None:
    os.write(pipe, str(port).encode())
    os.close(pipe)
