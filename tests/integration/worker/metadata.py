"""Both clouds' metadata services, on the loopback."""

from dataclasses import dataclass, field
from urllib.parse import unquote

from aiohttp import web

ACTION = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"
IDENTITY = "/latest/dynamic/instance-identity"
OF_GOOGLE = "/computeMetadata/v1/instance"
PREEMPTED = f"{OF_GOOGLE}/preempted"


@dataclass
class Metadata:
    """Both clouds' services at one address; `says` by path and query, unquoted. `token`: the one that is good now."""

    says: dict[str, str] = field(default_factory=dict)
    token: str = "first"
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        if request.method == "PUT":
            has_life = "X-aws-ec2-metadata-token-ttl-seconds" in request.headers
            return web.Response(text=self.token, status=200 if has_life else 400)
        is_google = request.path.startswith(OF_GOOGLE)
        if is_google and request.headers.get("Metadata-Flavor") != "Google":
            return web.Response(status=403)
        if not is_google and request.headers.get("X-aws-ec2-metadata-token") != self.token:
            return web.Response(status=401)
        said = self.says.get(unquote(request.path_qs))
        return web.Response(status=404) if said is None else web.Response(text=said)

    async def start(self) -> None:
        """Serve at `url`."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.answer)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        await self._runner.cleanup()
