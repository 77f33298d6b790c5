"""The processes that read settings from the environment, and the settings class of each."""

from collections.abc import Iterable, Sequence
from importlib import import_module

from muster.errors import Rejected
from shared.settings import DELIMITER, PREFIX, ServiceSettings

PROCESSES = {
    "gateway": "services.gateway.settings",
    "registry": "services.registry.settings",
    "searcher": "services.searcher.settings",
    "scheduler": "services.scheduler.settings",
    "provisioner": "services.provisioner.settings",
    "simulator": "simulator.settings",
    "bus-keeper": "deploy.bus_keeper.settings",
    "worker": "worker.settings",
}


def settings_type(process: str) -> type[ServiceSettings]:
    """Return the settings class of a process. Imported when it is needed: each takes up to a second."""
    found: type[ServiceSettings] = import_module(PROCESSES[process]).Settings
    return found


def own_prefix(process: str) -> str:
    """Return the beginning of the names of settings that only this process has: `MUSTER_GATEWAY__`."""
    return f"{PREFIX}{process.replace('-', '_').upper()}{DELIMITER}"


def choose_processes(wanted: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the wanted processes; if none is named, those with settings of their own among `names`.

    Raises:
        Rejected: A process is unknown.
    """
    for process in wanted:
        if process not in PROCESSES:
            raise Rejected(
                "process_unknown",
                f"{process!r} is not a process with settings",
                hint=f"choose from: {', '.join(PROCESSES)}",
            )
    given = tuple(names)
    found = (one for one in PROCESSES if any(name.startswith(own_prefix(one)) for name in given))
    return tuple(dict.fromkeys(wanted or found))
