"""docs/training.md as its reader carries it out: the script, and what it is after each of the diffs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def scripts() -> list[str]:
    """The plain script, and the script after each diff in turn."""
    text = PAGE.read_text()
    found = [re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]]
    for diff in re.findall(r"```diff\n(.*?)```", text, re.DOTALL):
        found.append(_applied(found[-1], diff))
    return found


def config() -> str:
    """The experiment's config; what comes after it are keys to be added."""
    return str(re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)[0])


def _applied(script: str, diff: str) -> str:
    for hunk in diff.split("@@\n"):
        lines = [line or " " for line in hunk.splitlines()]
        before = "".join(f"{line[1:]}\n" for line in lines if line[0] in " -")
        after = "".join(f"{line[1:]}\n" for line in lines if line[0] in " +")
        assert script.count(before) == 1, f"this is {script.count(before)} times in the script:\n{before}"
        script = script.replace(before, after)
    return script
