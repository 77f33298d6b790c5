"""Startup script of a new machine: it determines its worker, joins, and shuts down when it is not needed.

The same script works on a bare machine and on an image that includes the platform. Everyone who can read the
machine's user data can read it: its tokens are valid once, for a worker of that name, and the machine's metadata is
restricted to root before a trial can run.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from services.provisioner.core.instances.launches import Intent
from shared.ids import WorkerId

PAUSE_S = 5


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How a machine becomes a worker.

    Attributes:
        gateway_url: Where it joins.
        cloud: The metadata service that announces spot interruptions; None: none does.
        packages: Packages that pip installs if the image has no `muster` platform; empty: the image has it.
        index_url: The only package index for `packages` and their dependencies. None: the gateway's; dependencies then come from the
            machine's own index, with the hashes that the gateway lists.
        python: The interpreter that has the platform, or that creates its environment.
        user: The unprivileged user that runs trials; created if it does not exist.
        contact_timeout_s: The machine shuts down after this time without control plane and without a run.
        gives_up_after_s: The machine shuts down if its worker could not be started for this time, because nobody may
            know of it.
        environment: Further settings of the worker.
    """

    gateway_url: str
    cloud: str | None = None
    packages: Sequence[str] = ()
    index_url: str | None = None
    python: str = "python3"
    directory: str = "/var/lib/muster"
    user: str | None = "muster-trial"
    contact_timeout_s: float = 1800.0
    gives_up_after_s: int = 1200
    environment: Mapping[str, str] = field(default_factory=dict)


def script(bootstrap: Bootstrap, intent: Intent, tokens: Mapping[WorkerId, str], find_index: str) -> str:
    """Return a shell script that runs as root on a rented machine.

    `find_index` is the start of a shell function that sets `index`, the machine's index in its intent or its worker,
    and `address` from the provider's metadata, or returns 1 to be retried.
    """
    return _MACHINE.format(
        **_facts(bootstrap, intent, tokens), find_index=find_index, user=_make_user(bootstrap.user)
    )


def job_script(bootstrap: Bootstrap, intent: Intent, tokens: Mapping[WorkerId, str], find_index: str) -> str:
    """Return a shell script for a job on a shared machine. It leaves nothing behind, and only the job ends."""
    return _JOB.format(**_facts(bootstrap, intent, tokens), find_index=find_index)


def worker_environment(bootstrap: Bootstrap, intent: Intent) -> dict[str, str]:
    """Return the settings of every worker of the intent. Each worker finds its name, token and address by itself."""
    kind = intent.offer.kind
    chosen = {
        "MUSTER_WORKER__POOL": intent.pool,
        "MUSTER_WORKER__SLOTS": str(kind.slots),
        "MUSTER_WORKER__KIND": kind.slot_kind,
        "MUSTER_WORKER__GATEWAY_URL": bootstrap.gateway_url,
        "MUSTER_WORKER__CONTACT_TIMEOUT_S": f"{bootstrap.contact_timeout_s:g}",
        "MUSTER_WORKER__CLOUD": bootstrap.cloud,
        "MUSTER_WORKER__USER": bootstrap.user,
        **bootstrap.environment,
    }
    return {name: value for name, value in chosen.items() if value}


def _facts(bootstrap: Bootstrap, intent: Intent, tokens: Mapping[WorkerId, str]) -> dict[str, object]:
    exports = worker_environment(bootstrap, intent).items()
    return {
        "intent": intent.id,
        "pool": intent.pool,
        "cases": "\n".join(
            f"  {index}|{one.worker}) worker={one.worker} token={shlex.quote(tokens.get(one.worker, ''))} ;;"
            for index, one in enumerate(intent.instances)
        ),
        "directory": shlex.quote(bootstrap.directory),
        "install": _install(bootstrap),
        "give_up_s": bootstrap.gives_up_after_s,
        "pause_s": PAUSE_S,
        "environment": "\n".join(f"export {name}={shlex.quote(value)}" for name, value in exports),
    }


def _make_user(user: str | None) -> str:
    if user is None:
        return ":"
    name = shlex.quote(user)
    return (
        f"id -u {name} >/dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin {name}"
    )


def _install(bootstrap: Bootstrap) -> str:
    """Return shell code that sets `python` to the interpreter with the platform."""
    python = shlex.quote(bootstrap.python)
    if not bootstrap.packages:
        return f"python={python}"
    packages = " ".join(map(shlex.quote, bootstrap.packages))
    return (
        f'[ -x "$directory/venv/bin/python" ] || {python} -m venv "$directory/venv" || return 1\n'
        f"{_locked_dependencies(bootstrap)}"
        f'  "$directory/venv/bin/python" -m pip install --quiet --isolated --index-url {_index(bootstrap)} {packages} || return 1\n'
        '  python="$directory/venv/bin/python"'
    )


def _locked_dependencies(bootstrap: Bootstrap) -> str:
    if bootstrap.index_url is not None:
        return ""
    listed = shlex.quote(f"{bootstrap.gateway_url.rstrip('/')}/packages/requirements.txt")
    return f'  "$directory/venv/bin/python" -m pip install --quiet --no-deps --require-hashes -r {listed} || return 1\n'


def _index(bootstrap: Bootstrap) -> str:
    """Return the only index that is asked for the packages: on a public one, anybody can register a name."""
    return shlex.quote(bootstrap.index_url or f"{bootstrap.gateway_url.rstrip('/')}/packages/simple/")


_STEPS = """\
identify() {{
{find_index}
case $index in
{cases}
  *) over "no worker has index $index" ;;
esac
prepare
}}

install() {{
  {install}
}}

# Retry each step until it works or the time is up: an unused machine costs money.
for step in identify install; do
  until $step; do
    [ $(($(date +%s) - begun)) -gt {give_up_s} ] && over "step $step failed"
    sleep {pause_s}
  done
done
"""

_START = """\
{environment}
export MUSTER_WORKER__ID=$worker MUSTER_WORKER__JOIN_TOKEN=$token MUSTER_WORKER__ADDRESS=$address
export MUSTER_WORKER__DIRECTORY="$directory/worker"
good=$begun
while :; do
  started=$(date +%s)
  "$python" -P -m worker && over "the worker ended"
  now=$(date +%s)
  [ $((now - started)) -ge 60 ] && good=$now
  [ $((now - good)) -gt {give_up_s} ] && over "the worker does not stay up"
  sleep {pause_s}
done
"""

_MACHINE = (
    """\
#!/bin/bash
# Muster, intent {intent}: this machine becomes a worker of pool {pool}, and shuts down when it is not needed.
umask 077
directory={directory}
mkdir -p "$directory"
chmod 711 "$directory"
begun=$(date +%s)
# Run as a service, also after a stop and start of the machine; stopping it leaves the ranks running.
if [ "$1" != stay ] && [ -d /run/systemd/system ]; then
  cp "$0" "$directory/start"
  printf '[Service]\nExecStart=/bin/bash %s stay\nKillMode=process\n[Install]\nWantedBy=multi-user.target\n' \
    "$directory/start" > /etc/systemd/system/muster-worker.service
  systemctl enable --quiet muster-worker && systemctl start --no-block muster-worker
  exit
fi
over() {{ echo "muster: $1; the machine shuts down"; shutdown -h now; exit 0; }}
prepare() {{ :; }}

"""
    + _STEPS
    + """{user}
# User code must not read this script or use the machine's role. DNS on Google Cloud uses this address too.
iptables -A OUTPUT -d 169.254.169.254 -p tcp ! --dport 53 -m owner ! --uid-owner 0 -j REJECT 2>/dev/null
"""
    + _START
)

_JOB = (
    """\
#!/bin/bash
# Muster, intent {intent}: this job is a worker of pool {pool}, and ends when it is not needed.
umask 077
begun=$(date +%s)
over() {{ echo "muster: $1; the job ends"; exit 0; }}
prepare() {{ directory={directory}/$worker && mkdir -p "$directory" && trap 'rm -rf "$directory"' EXIT; }}

"""
    + _STEPS
    + _START
)
