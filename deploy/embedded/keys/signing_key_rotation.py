"""`muster keys rotate --operator` and `--account`: rotate the keys that sign the accounts, and those that sign services and workers. Neighbour: `identities`."""

import json
from typing import Literal

from deploy.embedded.keys.identities import RELOAD, own_options, reload, restart
from deploy.embedded.options import Options
from deploy.embedded.servers import Home, NatsServer
from deploy.embedded.state import State, load_state
from deploy.keys.directory import Keys
from deploy.keys.files import retire, rotate_account, rotate_operator
from deploy.keys.permissions import BUS_KEEPER, SERVICES
from shared.clock import SystemClock

_LATER = (
    "workers renew their credentials within 12 hours; after a day run `muster keys rotate --account --finish`"
    " (at once if a key was stolen: workers that have not renewed by then need another join token)"
)


def rotate_signing(what: Literal["operator", "account"], *, as_json: bool) -> None:
    """Rotate signing keys, and switch the parts that run here to them.

    Raises:
        Rejected: the operator's keys are not here.
        Conflict: an earlier rotation of the account's keys is not finished.
        Broken: a part did not restart with the new keys; earlier signatures stay valid.
    """
    options, now = own_options(), SystemClock().now()
    state = _running(options)
    if what == "operator":
        rotate_operator(options.keys, now)
        message = "the operator key is rotated"
        if state is not None and _part_of(state, "nats"):
            _write_configuration(options, state)
            restart(options, state, "nats")
        else:
            message += f"; restart each NATS server, one by one, with {Keys(options.keys).server_conf}: users need no change"
    else:
        rotate_account(options.keys, now)
        message = f"the keys that sign services and workers are rotated; {_LATER}"
        if state is not None and reload(options):
            for service in (BUS_KEEPER, *SERVICES):
                restart(options, state, service)
        else:
            # A bus without the new keys would refuse services that start with them.
            again = (
                "`muster down` and `muster up`"
                if state is not None
                else "each with its .creds, the scheduler with worker-issuer.json too"
            )
            message += (
                f"; {RELOAD.format(conf=Keys(options.keys).server_conf)}, then restart the services: {again}"
            )
    _print({"changed": what}, message, as_json=as_json)


def finish_account(*, as_json: bool) -> None:
    """Invalidate everything that the account's former keys signed. Raises Rejected if the operator's keys are not here."""
    options = own_options()
    was = retire(options.keys, SystemClock().now())
    message = (
        "everything that the former keys signed is invalid now"
        if was
        else "there are no former keys to invalidate"
    )
    if was and not reload(options):
        message += f"; {RELOAD.format(conf=Keys(options.keys).server_conf)}"
    _print({"retired": was}, message, as_json=as_json)


def _running(options: Options) -> State | None:
    state = load_state(options.home)
    return state if state is not None and state.supervisor.is_alive() else None


def _part_of(state: State, name: str) -> bool:
    return any(part.name == name and part.process is not None for part in state.parts)


def _write_configuration(options: Options, state: State) -> None:
    """A server cannot reload another operator: it must restart with it."""
    port = next(part.ports[0] for part in state.parts if part.name == "nats")
    NatsServer(Home(options.home), port, Keys(options.keys)).prepare()


def _print(facts: dict[str, object], message: str, *, as_json: bool) -> None:
    print(json.dumps(facts) if as_json else message)
