"""No secret leaves its place: the platform is used with all of them, and then whatever it wrote is searched for each."""

import asyncio
import base64
import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import httpx
import psutil
import pytest

from deploy.embedded.state import load_state
from muster.client.settings import FILE, read_address
from muster.errors import Rejected
from muster.wire import ENV_TOKEN
from shared.messages.trial_specs import UNCATEGORIZED
from tests.e2e.platform import Platform
from tests.e2e.secret_scan import Places, everything

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

VARIABLE = "a variable of a config"
KEPT: Sequence[tuple[str, str]] = (
    ("file secrets/*", "*"),
    ("file keys/*", "*"),
    ("file client.json", "secrets/admin-token"),
    ("file run/*s3*", "secrets/s3-*"),
    ("file run/redis.conf", "secrets/redis-*"),
    ("file workers/*/identity/seed", "workers/*/identity/seed"),
    ("file workers/*/runs/*/run.json", "the token of a run, *"),
    *(
        (where, VARIABLE)
        for where in (
            "file workers/*/runs/*/run.json",
            "file data/nats/*/streams/EVT/*",
            "stream EVT *.submission.committed",
            "stream EVT *.trial.requested",
            "table gateway.experiment",
            "table gateway.idempotency",
            "table gateway.outbox",
            "table scheduler.trial_request",
            "table searcher.experiment",
            "table searcher.outbox",
        )
    ),
)
"""Where a secret has to stand: files that only the platform's own user reads. What a config says goes the config's way, and no other:
who may see the experiment sees it."""


@pytest.fixture
def webhook(platform: Platform) -> Iterator[dict[str, str]]:
    """One that cannot be reached; what is known of it stays until the end of the search."""
    name, path = f"canary-{secrets.token_hex(4)}", secrets.token_urlsafe(32)
    made = platform.client.webhooks.create(name, f"https://hooks.muster.invalid/{path}")
    assert platform.client.webhooks.test(name).attempts
    yield {"a webhook's secret": made.secret, "a webhook's path": path}
    platform.client.webhooks.delete(name)


def test_no_secret_stands_in_what_the_platform_writes(platform: Platform, webhook: dict[str, str]) -> None:
    canaries = webhook | _used(platform) | _of_the_deployment(platform.home)
    state = load_state(platform.home)
    assert state is not None and len(canaries) > 40, sorted(canaries)
    places = Places(platform.home, {part.name: part.ports for part in state.parts})
    found, kinds = asyncio.run(_search(places, canaries))
    assert kinds >= {"file", "command", "object", "figures", "table", "stream"}
    assert not found, "\n".join(sorted(found))


def _used(platform: Platform) -> dict[str, str]:
    """Secrets that came and went over the interfaces, also those that were refused or put where they do not belong."""
    name, address = f"canary-{secrets.token_hex(4)}", read_address(platform.home / FILE)
    platform.client.users.create(name)
    platform.client.roles.grant("editor", user=name)
    tokens = {
        "an unknown token": "mst_" + secrets.token_urlsafe(32),
        "a user's token": platform.client.users.create_token(name, "laptop").secret,
        "a first admin's token": platform.client.tenants.create(name).secret,
    }
    with httpx.Client(base_url=address.url, timeout=30.0) as http:
        mine = {"Authorization": f"Bearer {address.token}"}
        for key, token in tokens.items():
            status = http.get("/v1/experiments", headers={"Authorization": f"Bearer {token}"}).status_code
            assert status == (401 if key == "an unknown token" else 200)
            asked = http.get("/v1/experiments", params={"access_token": token}, headers=mine)
            assert asked.status_code == 400
            asked = http.post("/v1/users", json={"password": token}, headers=mine)
            assert asked.status_code == 400
        joins = _joined(http, name, mine)
    return tokens | joins | _signed_in(platform, name) | _trained(platform)


def _signed_in(platform: Platform, name: str) -> dict[str, str]:
    """A person's password and session, and a password that is wrong."""
    password, wrong = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
    platform.client.users.set_password(name, password)
    with pytest.raises(Rejected):
        platform.client.sessions.sign_in(name, wrong)
    session = platform.client.sessions.sign_in(name, password).secret
    links = platform.client.sessions.create_link(), platform.client.sessions.create_link()
    linked = platform.client.sessions.sign_in_with_link(links[0].secret).secret
    return {
        "a password": password,
        "a wrong password": wrong,
        "a session": session,
        "a session of a link": linked,
        "a link that was used": links[0].secret,
        "a link that was not": links[1].secret,
    }


def _joined(http: httpx.Client, name: str, mine: dict[str, str]) -> dict[str, str]:
    """Join tokens: one that was used, and one that nobody issued."""
    issued = http.post("/v1/join-tokens", json={}, headers=mine | {"Idempotency-Key": name})
    assert issued.status_code == 201, issued.text
    tokens = {"a join token": str(issued.json()["token"]), "a bad join token": secrets.token_urlsafe(32)}
    for token in tokens.values():
        body = {"worker": name, "user_key": "no key", "pool": "default", "address": "127.0.0.1"}
        http.post("/v1/workers/join", json=body, headers={"Authorization": f"Bearer {token}"})
    return tokens


def _trained(platform: Platform) -> dict[str, str]:
    """A trial with a secret in its config; what it speaks to its worker with is read from its process."""
    used = {VARIABLE: secrets.token_urlsafe(32), "a user's secret": secrets.token_urlsafe(32)}
    platform.client.secrets.set(UNCATEGORIZED, "CANARY_SECRET", used["a user's secret"])
    created = platform.create(
        environment={"environment_variables": [f"CANARY={used[VARIABLE]}"], "secrets": ["CANARY_SECRET"]},
        entrypoint="sh -c 'exec python3 train.py'",
        hyperparameters={"x": 1.0, "steps": 3, "pace_s": 0.5},
    )
    platform.until(lambda: _tokens_of_ranks(platform.home) != {})
    used |= _tokens_of_ranks(platform.home)
    platform.completed(created)
    return used


def _tokens_of_ranks(home: Path) -> dict[str, str]:
    """What user code speaks to its worker with."""
    found = {}
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            known = process.environ()
            if known.get(ENV_TOKEN) and any(str(home) in value for value in known.values()):
                found[f"the token of a run, process {process.pid}"] = known[ENV_TOKEN]
    return found


def _of_the_deployment(home: Path) -> dict[str, str]:
    files = [
        *(path for path in (home / "secrets").iterdir() if path.suffix != ".done"),
        *(home / "keys").glob("*.seed"),
        *(home / "workers").glob("*/**/seed"),
    ]
    kept = {str(path.relative_to(home)): path.read_text().strip() for path in files if path.is_file()}
    kept["keys/worker-issuer.json"] = json.loads((home / "keys/worker-issuer.json").read_text())["seed"]
    return kept


async def _search(places: Places, canaries: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """What stands where it must not, and the kinds of place that were looked at."""
    needles = [(name, form) for name, secret in canaries.items() for form in _forms(secret)]
    found, kinds = set(), set()
    async for where, content in everything(places):
        kind, _, place = where.partition(" ")
        kinds.add(kind)
        for name in (name for name, form in needles if form in content):
            if not any(fnmatch(where, at) and fnmatch(name, of) for at, of in KEPT):
                found.add(f"{name} in {where}")
            elif kind == "file" and _is_open(places.home, places.home / place):
                found.add(f"{name} in {where}, which everybody on the machine can read")
    return found, kinds


def _is_open(home: Path, path: Path) -> bool:
    folders = (folder for folder in path.parents if folder.is_relative_to(home))
    return bool(path.stat().st_mode & 0o044) and all(folder.stat().st_mode & 0o011 for folder in folders)


def _forms(secret: str) -> set[bytes]:
    """As it is, and as what carries bytes writes it."""
    plain = secret.encode()
    return {
        plain,
        plain.hex().encode(),
        base64.b64encode(plain).rstrip(b"="),
        base64.urlsafe_b64encode(plain).rstrip(b"="),
    }
