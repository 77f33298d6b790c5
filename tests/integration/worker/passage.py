"""What holds a network namespace: `unshare --net python passage.py FOLDER PORT…` lets in it 127.0.0.1:PORT lead out through `FOLDER/PORT`, a unix socket.

It ends with its standard input, so that nothing of the namespace outlives the test, however the test ends.
"""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def join(
    reach: Callable[[], Awaitable[Streams]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Pass bytes on, both ways, until one side ends."""
    try:
        far_reader, far_writer = await reach()
    except OSError:
        writer.close()
        return
    await asyncio.wait(
        [
            asyncio.ensure_future(_pass_on(reader, far_writer)),
            asyncio.ensure_future(_pass_on(far_reader, writer)),
        ],
        return_when=asyncio.FIRST_COMPLETED,
    )
    writer.close()
    far_writer.close()


async def lead_out(folder: Path, ports: list[int]) -> list[asyncio.Server]:
    """The end outside: what comes by `folder/PORT` goes to 127.0.0.1:PORT."""
    return [
        await asyncio.start_unix_server(
            partial(join, partial(asyncio.open_connection, "127.0.0.1", port)), folder / str(port)
        )
        for port in ports
    ]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    except OSError:
        return


async def _main(folder: Path, ports: list[int]) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for port in ports:
        reach = partial(asyncio.open_unix_connection, folder / str(port))
        await asyncio.start_server(partial(join, reach), "127.0.0.1", port)
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
