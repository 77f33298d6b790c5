"""A store that real workers fetch from and put to by plain HTTP, and that remembers who did."""

from aiohttp import web

from shared.ids import CheckpointId
from shared.messages.files import FileEntry


class FakeStore:
    """Objects by key. `puts_refused`: names of files whose next put fails; `contents_refused`: whose content is refused, once, each with S3's code for it."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.transfers: list[tuple[str, str]] = []
        self.puts_refused: set[str] = set()
        self.contents_refused: dict[str, str] = {}

    async def start(self, *more: web.RouteDef) -> None:
        """Listen at `url`, with other routes before the store's own."""
        application = web.Application(client_max_size=2**30)
        application.router.add_routes(more)
        application.router.add_get("/{key:.+}", self._on_get)
        application.router.add_put("/{key:.+}", self._on_put)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()

    def transfers_of(self, checkpoint_id: CheckpointId) -> list[tuple[str, str]]:
        """What went to and from here of a checkpoint's files."""
        prefix = f"checkpoints/{checkpoint_id}/"
        return [(how, key.removeprefix(prefix)) for how, key in self.transfers if key.startswith(prefix)]

    async def _on_get(self, request: web.Request) -> web.Response:
        self.transfers.append(("GET", request.match_info["key"]))
        content = self.objects.get(request.match_info["key"])
        return web.Response(status=404) if content is None else web.Response(body=content)

    async def _on_put(self, request: web.Request) -> web.Response:
        content = await request.read()
        self.transfers.append(("PUT", request.match_info["key"]))
        if (name := request.match_info["key"].rpartition("/")[2]) in self.puts_refused:
            self.puts_refused.discard(name)
            return web.Response(status=503)
        if code := self.contents_refused.pop(name, None):
            return web.Response(status=400, text=f"<Error><Code>{code}</Code></Error>")
        self.objects[request.match_info["key"]] = content
        return web.Response()


def key_of(checkpoint_id: CheckpointId, entry: FileEntry) -> str:
    """Where a file of a checkpoint lies."""
    return f"checkpoints/{checkpoint_id}/{entry.path}"
