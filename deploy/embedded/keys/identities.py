"""`muster keys revoke` and `rotate`: revoke a key, and rotate a service's key. Neighbours: `deploy/keys` signs; the NATS server reloads its configuration."""

import asyncio
import json
import re
import signal

from deploy.embedded.host.processes import wait_until
from deploy.embedded.operator_bus import bus_url
from deploy.embedded.options import Options, home_to_find, load_options
from deploy.embedded.servers import Home, NatsServer
from deploy.embedded.state import Part, State, load_state
from deploy.keys.directory import Keys
from deploy.keys.files import revoke_key, rotate_service
from deploy.keys.permissions import ADMIN, BUS_KEEPER, SERVICES
from muster.errors import Broken, Rejected
from shared.auth.nats_jwt import WORKER_NAME
from shared.bus import Bus
from shared.clock import SystemClock
from shared.ids import SITE, WorkerId
from shared.messages.workers import GetWorkerKey

_PUBLIC_KEY = re.compile(r"U[A-Z2-7]{55}")
_RESTART_TIMEOUT_S = 60.0
OLD_KEYS_VALID = "earlier keys stay valid"
RELOAD = "reload each NATS server that includes {conf}: `nats-server --signal reload`"


def revoke_worker(worker: str, *, as_json: bool) -> None:
    """Revoke a worker's key permanently.

    Raises:
        Rejected: the operator's keys are not here, or the argument is neither a worker's name nor a key.
        NotFound: no such worker ever joined.
        Transient: a name was given, but the scheduler does not answer.
    """
    options = own_options()
    key = worker if _PUBLIC_KEY.fullmatch(worker) else asyncio.run(_key_of(options, worker))
    revoke_key(options.keys, key, worker, SystemClock().now())
    done = f"{worker} is revoked: its key {key} is permanently invalid" + (
        "" if reload(options) else f"; {RELOAD.format(conf=Keys(options.keys).server_conf)}"
    )
    again = "to admit the machine again, remove `identity` from the worker's data directory and join with a new token"
    print(json.dumps({"worker": worker, "key": key}) if as_json else f"{done}\n{again}")


def rotate_key(service: str, *, as_json: bool) -> None:
    """Rotate a service's key. If the platform runs here, restart the service with it and revoke the old key.

    Raises:
        Rejected: there is no such service, or the operator's keys are not here.
        Broken: the service did not restart; its old key stays valid.
    """
    options = own_options()
    known = (*SERVICES, BUS_KEEPER)
    if service not in known:
        raise Rejected(
            "service_unknown", f"unknown service {service!r}", hint=f"choose one of: {', '.join(known)}"
        )
    old = rotate_service(options.keys, service, SystemClock().now())
    state = load_state(options.home)
    is_here = state is not None and state.supervisor.is_alive()
    if state is not None and is_here:
        restart(options, state, service)
    elif options.nats_url:
        message = f"restart {service} with its new {Keys(options.keys).credentials(service)}, then run `muster keys revoke {old}`"
        print(json.dumps({"service": service, "old_key": old, "revoked": False}) if as_json else message)
        return
    revoke_key(options.keys, old, service, SystemClock().now())
    message = f"{service} has a new key; the old key {old} is revoked"
    if is_here and not reload(options):
        message += f"; {RELOAD.format(conf=Keys(options.keys).server_conf)}"
    print(json.dumps({"service": service, "old_key": old, "revoked": True}) if as_json else message)


def own_options() -> Options:
    """Return the options of the platform found from the working directory. Raises Rejected if the operator's keys are not here."""
    options = load_options(home=home_to_find())
    if not (options.keys / "operator.seed").is_file():
        raise Rejected(
            "no_keys",
            f"{options.keys} contains no operator.seed, which this command needs",
            hint="run this where the keys were created, or set MUSTER_KEYS to their directory",
        )
    return options


async def _key_of(options: Options, worker: str) -> str:
    if not WORKER_NAME.fullmatch(worker):
        raise Rejected("bad_worker_name", f"{worker!r} is neither a worker's name nor a public key")
    async with await Bus.connect(bus_url(options), ADMIN, Keys(options.keys).credentials(ADMIN)) as bus:
        return (await bus.ask(GetWorkerKey(worker=WorkerId(worker)), SITE)).user_key


def reload(options: Options) -> bool:
    """Reload the configuration of the bus that runs here; return False if none does."""
    state = load_state(options.home)
    part = _part(state, "nats") if state else None
    if part is None or part.process is None or not part.ports:
        return False
    NatsServer(Home(options.home), part.ports[0], Keys(options.keys)).prepare()
    part.process.send(signal.SIGHUP)
    return True


def restart(options: Options, state: State, service: str, if_not: str = OLD_KEYS_VALID) -> None:
    """Restart a part gracefully, and wait until it runs again.

    Raises:
        Broken: it did not restart; the message includes `if_not`, the resulting state.
    """
    before = _part(state, service)
    if before is None or before.process is None:
        return
    before.process.send(signal.SIGTERM)

    def is_back() -> bool:
        now = load_state(options.home)
        part = _part(now, service) if now else None
        return part is not None and part.state == "running" and part.process not in (None, before.process)

    if not wait_until(is_back, _RESTART_TIMEOUT_S):
        raise Broken(
            f"{service} did not start again within {_RESTART_TIMEOUT_S:g} s; {if_not};"
            f" see {options.home / 'logs' / f'{service}.log'}"
        )


def _part(state: State, name: str) -> Part | None:
    return next((part for part in state.parts if part.name == name), None)
