"""A gRPC server that does nothing but answer, as fast as the library lets it: the floor under what a call can cost.

`python -m tests.bench.empty_grpc` reads its answer from the first line of its standard input (hexadecimal digits), prints its port, and
answers `GetExperiment` so until that input ends.
"""

import asyncio
import sys
from typing import Any

import grpc
import grpc.aio
import uvloop

from services.gateway.transports.grpc.server import FULL_NAME


async def serve(answer: bytes) -> None:
    """Until the standard input ends."""

    async def say(request: bytes, context: Any) -> bytes:
        return answer

    method = grpc.unary_unary_rpc_method_handler(say)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(FULL_NAME, {"GetExperiment": method}),)
    )
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    await server.start()
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)


if __name__ == "__main__":
    uvloop.run(serve(bytes.fromhex(sys.stdin.readline())))
