"""`startup-hook.sh` of an experiment's code: the warm parent runs it on each machine of a run before the ranks."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from muster import wire
from worker.core.faults import CausedByTrial
from worker.executors.interface import Order

SCRIPT = "startup-hook.sh"
ASK_AGAIN_S = 5.0


class HookFailed(CausedByTrial):
    """The experiment's startup hook ended with an exit code other than 0: user code failed."""


@dataclass(slots=True)
class Hook:
    """The exit of a run's hook."""

    exit_code: int = 0
    error: str = ""
    trial_error: str = ""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def on_process(self, process: wire.ProcessFrame) -> None:
        """Record a report of the warm parent."""
        if process.exit_code is not None:
            self.exit_code, self.error, self.trial_error = (
                process.exit_code,
                process.error,
                process.trial_error,
            )
            self.over.set()


def has_hook(code: Path) -> bool:
    """Whether the experiment's code contains a hook. Not in a folder that the hook of an earlier daemon has closed."""
    with suppress(PermissionError):
        return (code / SCRIPT).is_file()
    return False


async def run_hook(
    hook: Hook, frame: wire.Launch, send: Callable[[Order], None], is_over: Callable[[], bool]
) -> None:
    """Run the hook until it or the run ends.

    Raises:
        HookFailed: It ended with an exit code other than 0.
        OSError: The machine could not start it, or lost it.
    """
    while not hook.over.is_set() and not is_over():
        # A warm parent ignores names that it has started; a new one starts the hook again.
        send(frame)
        try:
            async with asyncio.timeout(ASK_AGAIN_S):
                await hook.over.wait()
        except TimeoutError:
            continue
    if hook.error and not is_over():
        raise OSError(f"{SCRIPT} could not be run: {hook.error}")
    if hook.exit_code and not is_over():
        named = f" ({hook.trial_error})" if hook.trial_error else ""
        raise HookFailed(
            "hook_failed", f"{SCRIPT} ended with exit code {hook.exit_code}{named}: see the trial's log"
        )
