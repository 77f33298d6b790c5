"""The names of a run's processes. Pure."""

from shared.ids import RunId

RENDEZVOUS = "rendezvous"
HOOK = "hook"


def process_name(run: RunId, generation: int, part: str | int) -> str:
    """Return a globally unique name: each part of a run is launched once per generation."""
    return f"{run}.{generation}.{part}"


def own_parent(run: RunId | str) -> str:
    """Return the name of a run's own warm parent; those of Python environments have other names."""
    return f"run {run}"


def part_of(name: str) -> str:
    """Return the last part of a process name: a local rank, `rendezvous` or `hook`."""
    return name.rsplit(".", 1)[-1]


def generation_of(name: str) -> int:
    """Return the generation that the process was launched for."""
    return int(name.rsplit(".", 2)[-2])
