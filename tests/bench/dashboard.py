"""The dashboard in a real browser, for the benchmarks that look at it: `web/bench/*.mjs` drive it and print JSON lines."""

import asyncio
import json
import shutil
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx

from tests.bench.embedded import Platform

WEB = Path(__file__).resolve().parents[2] / "web"
PASSWORD = "correct horse battery"


async def played(script: str, *given: object, within_s: float) -> list[Any]:
    """What a script of `web/bench` tells, line by line. Raises SystemExit where it fails, or where no browser is here."""
    if shutil.which("chromium") is None or not (WEB / "dist" / "routes.json").exists():
        raise SystemExit("it takes chromium (apt install chromium) and the built dashboard (make web)")
    command = ["node", f"bench/{script}", *map(str, given)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=WEB, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(within_s):
            output, wrong = await process.communicate()
    except TimeoutError:
        process.kill()
        raise SystemExit(f"{script} did not end within {within_s:g} s") from None
    if process.returncode != 0 or wrong:
        raise SystemExit(wrong.decode() or f"{script} failed")
    return [json.loads(line) for line in output.splitlines()]


def signed_in(bench: Platform) -> tuple[str, str]:
    """The cookie of somebody who has signed in by a password: its name and what it holds."""
    address = bench.client.address
    with httpx.Client(base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}) as admin:
        admin.post("/v1/users", json={"name": "ann"}).raise_for_status()
        admin.post("/v1/role-bindings", json={"role": "editor", "user": "ann"}).raise_for_status()
        admin.put("/v1/users/ann/password", json={"password": PASSWORD}).raise_for_status()
    with httpx.Client(base_url=address.url, headers={"Muster-Session": "cookie"}) as browser:
        answer = browser.post("/v1/sessions", json={"user": "ann", "password": PASSWORD})
        answer.raise_for_status()
    (kept,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return kept.key, kept.value
