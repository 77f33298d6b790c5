"""The names of a run's processes. Pure."""

from shared.ids import RunId

RENDEZVOUS = "rendezvous"
HOOK = "hook"


def process_name(run: RunId, generation: int, part: str | int) -> str:
    """Unique for ever: a part of a run is launched once per generation."""
    return f"{run}.{generation}.{part}"


def part_of(name: str) -> str:
    """The last part of a process's name: a local rank's number, `rendezvous` or `hook`."""
    return name.rsplit(".", 1)[-1]


def generation_of(name: str) -> int:
    """The generation for which it was launched."""
    return int(name.rsplit(".", 2)[-2])
