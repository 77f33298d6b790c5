"""`muster keys rotate --operator` and `--account`: what signs the accounts, and what signs services and workers. Neighbour: `identities`."""

import json
from typing import Literal

from deploy.embedded.keys.identities import RELOAD, own_options, reload, restart
from deploy.embedded.options import Options
from deploy.embedded.servers import Home, NatsServer
from deploy.embedded.state import State, load_state
from deploy.keys.directory import Keys
from deploy.keys.files import retire, rotate_account, rotate_operator
from deploy.keys.permissions import SERVICES
from shared.clock import SystemClock

_LATER = (
    "workers get other credentials within 12 hours by themselves; after a day run `muster keys rotate --account --finish`"
    " (at once if a key was stolen: workers that have not renewed by then need another join token)"
)


def rotate_signing(what: Literal["operator", "account"], *, as_json: bool) -> None:
    """Changes what signs, and has what runs here go over to it.

    Raises:
        Rejected: the operator's keys are not here.
        Conflict: the account's keys were changed before, and the former still count.
        Broken: a part did not come back with the new ones; what was signed before still counts.
    """
    options, now = own_options(), SystemClock().now()
    state = _running(options)
    if what == "operator":
        rotate_operator(options.keys, now)
        message = "another operator vouches for the accounts"
        if state is not None and _part_of(state, "nats"):
            _write_configuration(options, state)
            restart(options, state, "nats")
        else:
            message += f"; start each NATS server again, one after the other, with {Keys(options.keys).server_conf}: users go on as they are"
    else:
        rotate_account(options.keys, now)
        message = f"services and workers are signed for with other keys; {_LATER}"
        if state is not None and reload(options):
            for service in SERVICES:
                restart(options, state, service)
        else:
            # A bus that does not know the new keys yet would let none of those in that start with them.
            again = (
                "`muster down` and `muster up`"
                if state is not None
                else "each with its .creds, the scheduler with worker-issuer.json too"
            )
            message += f"; {RELOAD.format(conf=Keys(options.keys).server_conf)}, and only then start the services again: {again}"
    _print({"changed": what}, message, as_json=as_json)


def finish_account(*, as_json: bool) -> None:
    """Ends what the account's former keys signed. Raises Rejected where the operator's keys are not here."""
    options = own_options()
    was = retire(options.keys, SystemClock().now())
    message = "what the former keys signed counts no more" if was else "no keys were changed that still count"
    if was and not reload(options):
        message += f"; {RELOAD.format(conf=Keys(options.keys).server_conf)}"
    _print({"retired": was}, message, as_json=as_json)


def _running(options: Options) -> State | None:
    state = load_state(options.home)
    return state if state is not None and state.supervisor.is_alive() else None


def _part_of(state: State, name: str) -> bool:
    return any(part.name == name and part.process is not None for part in state.parts)


def _write_configuration(options: Options, state: State) -> None:
    """A server refuses another operator when it reads its configuration again: it has to start with it."""
    port = next(part.ports[0] for part in state.parts if part.name == "nats")
    NatsServer(Home(options.home), port, Keys(options.keys)).prepare()


def _print(facts: dict[str, object], message: str, *, as_json: bool) -> None:
    print(json.dumps(facts) if as_json else message)
