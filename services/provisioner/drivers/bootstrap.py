"""What a new machine runs at its first start: it learns which worker it is, joins, and ends itself when it is of no use.

The same script serves a bare machine and an image that has the platform. It is seen by whoever may read the machine's user data: the tokens in it
are good once, for a worker of that name, and the machine's own metadata is closed to everybody but root before a trial can run.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from services.provisioner.core.instances.intents import Intent
from shared.ids import WorkerId

PAUSE_S = 5


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How a machine becomes a worker.

    Attributes:
        gateway_url: Where it joins.
        cloud: Which metadata service tells it that the machine is taken back; None: nobody does.
        packages: What pip installs where the image has no `muster` platform; nothing: the image has it.
        python: The interpreter that has the platform, or makes the environment for it.
        user: The unprivileged user that trials run as; made where it is not there.
        unheard_after_s: Without control plane and without a run for so long, the machine ends itself.
        gives_up_after_s: Likewise when its worker could not be started for so long: nobody may know of the machine.
        environment: Further settings of the worker.
    """

    gateway_url: str
    cloud: str | None = None
    packages: Sequence[str] = ()
    python: str = "python3"
    directory: str = "/var/lib/muster"
    user: str | None = "muster-trial"
    unheard_after_s: float = 1800.0
    gives_up_after_s: int = 1200
    environment: Mapping[str, str] = field(default_factory=dict)


def script(bootstrap: Bootstrap, intent: Intent, tokens: Mapping[WorkerId, str], find_index: str) -> str:
    """A shell script for root of a machine of ours. `find_index`, the beginning of a function of the shell, sets `index`, the machine's place in its intent
    or its worker, and `address` by what the provider tells the machine of itself, or returns 1 to be asked again."""
    return _MACHINE.format(
        **_facts(bootstrap, intent, tokens), find_index=find_index, user=_make_user(bootstrap.user)
    )


def job_script(bootstrap: Bootstrap, intent: Intent, tokens: Mapping[WorkerId, str], find_index: str) -> str:
    """A shell script for a job on a machine that others use too: it leaves nothing, and its end is all that ends."""
    return _JOB.format(**_facts(bootstrap, intent, tokens), find_index=find_index)


def worker_environment(bootstrap: Bootstrap, intent: Intent) -> dict[str, str]:
    """What every worker of the intent is set to; its name, token and address it learns by itself."""
    kind = intent.offer.kind
    chosen = {
        "MUSTER_WORKER__POOL": intent.pool,
        "MUSTER_WORKER__SLOTS": str(kind.slots),
        "MUSTER_WORKER__KIND": kind.slot_kind,
        "MUSTER_WORKER__GATEWAY_URL": bootstrap.gateway_url,
        "MUSTER_WORKER__UNHEARD_AFTER_S": f"{bootstrap.unheard_after_s:g}",
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
    """Leaves in `python` the interpreter that has the platform."""
    python = shlex.quote(bootstrap.python)
    if not bootstrap.packages:
        return f"python={python}"
    packages = " ".join(map(shlex.quote, bootstrap.packages))
    return (
        f'[ -x "$directory/venv/bin/python" ] || {python} -m venv "$directory/venv" || return 1\n'
        f'  "$directory/venv/bin/python" -m pip install --quiet {packages} || return 1\n'
        '  python="$directory/venv/bin/python"'
    )


_STEPS = """\
who() {{
{find_index}
case $index in
{cases}
  *) over "no worker has index $index" ;;
esac
place
}}

install() {{
  {install}
}}

# Each step is tried until it works or the time is over: a machine that stays for nothing costs money.
for step in who install; do
  until $step; do
    [ $(($(date +%s) - begun)) -gt {give_up_s} ] && over "$step did not work"
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
# Muster, intent {intent}: this machine becomes a worker of pool {pool}, and ends itself when it is of no use.
umask 077
directory={directory}
mkdir -p "$directory"
chmod 711 "$directory"
begun=$(date +%s)
# At every start of the machine, also one that was stopped: a service of it, whose end leaves the ranks.
if [ "$1" != stay ] && [ -d /run/systemd/system ]; then
  cp "$0" "$directory/start"
  printf '[Service]\nExecStart=/bin/bash %s stay\nKillMode=process\n[Install]\nWantedBy=multi-user.target\n' \
    "$directory/start" > /etc/systemd/system/muster-worker.service
  systemctl enable --quiet muster-worker && systemctl start --no-block muster-worker
  exit
fi
over() {{ echo "muster: $1; the machine ends"; shutdown -h now; exit 0; }}
place() {{ :; }}

"""
    + _STEPS
    + """{user}
# User code must not read this script, nor take the machine's role; names are still looked up there on Google Cloud.
iptables -A OUTPUT -d 169.254.169.254 -p tcp ! --dport 53 -m owner ! --uid-owner 0 -j REJECT 2>/dev/null
"""
    + _START
)

_JOB = (
    """\
#!/bin/bash
# Muster, intent {intent}: this job is a worker of pool {pool}, and ends when it is of no use.
umask 077
begun=$(date +%s)
over() {{ echo "muster: $1; the job ends"; exit 0; }}
place() {{ directory={directory}/$worker && mkdir -p "$directory" && trap 'rm -rf "$directory"' EXIT; }}

"""
    + _STEPS
    + _START
)
