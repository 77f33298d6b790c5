"""Texts for the reasons why runs ended. Pure."""

from worker.core.oom_detection import KILLED, lack_of_memory

SIGKILLED = -9
"""The exit code of a process that was killed by SIGKILL."""
PARENT_DIED = "the warm parent process that runs the ranks on this machine died"


def describe_exit(code: int, error: str = "", starved: bool = False) -> str:
    """Describe an exit code with the last error of the rank; out-of-memory errors get their own text."""
    if code == SIGKILLED:
        return KILLED if starved else "a process of the trial was killed (signal 9)"
    if code < 0:
        return f"a process of the trial was ended by signal {-code}"
    named = f" ({error})" if error else ""
    if code == 127:
        return f"the entrypoint was not found (exit code 127){named}: see the trial's log"
    if lack := lack_of_memory(error):
        return f"{lack}{named}: see the trial's log"
    return f"the trial's code ended with exit code {code}{named}: see the trial's log"


def describe_invalid(reason: str) -> str:
    """Describe a run whose script reported its hyperparameters as invalid."""
    return f"the trial's code reported its hyperparameters as invalid: {reason}"


def describe_full_disk(error: str, own: str) -> str:
    """Return which disk was full when a rank failed: the worker's (text `own`), or another one that the code writes to.

    `error` is the rank's own error, possibly truncated.
    """
    _, found, description = error.partition("] ")
    if not found or own.startswith(description):
        return own
    return f"the trial's code wrote to a full disk: {description}"
