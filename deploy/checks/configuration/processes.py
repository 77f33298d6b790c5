"""The processes that read settings from the environment, and the settings class of each."""

from collections.abc import Iterable, Sequence
from importlib import import_module

from muster.errors import Rejected
from shared.settings import ServiceSettings, SettingField, settings_of

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


def own_settings(process: str) -> tuple[SettingField, ...]:
    """Return the settings of the section of this process, `MUSTER_GATEWAY__…`."""
    section = process.replace("-", "_")
    return tuple(one for one in settings_of(settings_type(process)) if one.path[0] == section)


def choose_processes(wanted: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the wanted processes; if none is named, those that `names` are for: a setting that the process requires is among them.

    Other settings prove nothing: a provisioner passes `MUSTER_WORKER__…` on, and `muster up` reads ports of the gateway.

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
    given = frozenset(names)
    return tuple(dict.fromkeys(wanted or (one for one in PROCESSES if _is_meant(one, given))))


def _is_meant(process: str, names: frozenset[str]) -> bool:
    own = own_settings(process)
    required = [one for one in own if one.is_required]
    return any(one.name in names for one in required or own)
