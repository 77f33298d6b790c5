"""The reasons of ends, in words. Pure."""

from worker.core.memory import KILLED, lack_of_memory

SIGKILLED = -9
"""The exit code of what the kernel, or anybody, killed."""
PARENT_DIED = "the process that holds the ranks of this machine died"


def describe_exit(code: int, error: str = "", starved: bool = False) -> str:
    """An exit code in words, with the error that the rank named last; lack of memory is told apart."""
    if code == SIGKILLED:
        return KILLED if starved else "a process of the trial was killed (signal 9)"
    if code < 0:
        return f"a process of the trial was ended by signal {-code}"
    named = f" ({error})" if error else ""
    if code == 127:
        return f"the entrypoint was not found: exit code 127{named}: see its log"
    if lack := lack_of_memory(error):
        return f"{lack}{named}: see its log"
    return f"the trial's code ended with exit code {code}{named}: see its log"


def describe_invalid(reason: str) -> str:
    """What a script said of its hyperparameters, as the reason of an end."""
    return f"the trial's code calls its hyperparameters invalid: {reason}"


def describe_full_disk(error: str, own: str) -> str:
    """Which disk was full when a rank failed for one: the worker's (`own` says so), or another that its code writes to.

    `error` is the error that the rank named, perhaps cut off.
    """
    _, found, description = error.partition("] ")
    if not found or own.startswith(description):
        return own
    return f"the trial's code met a full disk: {description}"
