"""Horovod's rendezvous for one run, in a process of its own on the chief, bound to the gang's address only."""

import os
import socketserver
from typing import NoReturn

from muster.runtime import isolation
from muster.wire import OpenRendezvous


def serve(request: OpenRendezvous, port_pipe: int) -> NoReturn:
    """Serve until killed; the port goes into `port_pipe` as text, a failure as `error: …`."""
    try:
        isolation.reset_signals()
        isolation.drop_privileges(None, None)
        from horovod.runner.common.util.hosts import (
            get_host_assignments,
            parse_hosts,
        )
        from horovod.runner.http.http_server import (
            RendezvousHandler,
            RendezvousHTTPServer,
        )

        class Server(RendezvousHTTPServer):  # type: ignore[misc]
            request_queue_size = 512

            def server_bind(self) -> None:
                # HTTPServer asks DNS for its own name here, which can take seconds.
                socketserver.TCPServer.server_bind(self)
                self.server_name, self.server_port = self.server_address[:2]

        server = Server((request.address, 0), RendezvousHandler, 0)
        server.init(get_host_assignments(parse_hosts(request.hosts), request.size, request.size))
        os.write(port_pipe, str(server.server_port).encode())
        os.close(port_pipe)
        server.serve_forever(poll_interval=3600)
    except BaseException as error:  # whatever it was, this fork must end here
        os.write(port_pipe, f"error: {error!r}".encode())
    finally:
        os._exit(1)
