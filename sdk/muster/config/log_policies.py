"""What is looked for in the log of a trial, and what follows."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from muster.config.log_patterns import read_pattern
from muster.config.section import Section, refusal

PolicyAction = Literal["cancel_retries", "exclude_node", "label"]


def _read_action(action: object) -> object:
    """`none` as Determined writes it, and its older form `{type: cancel_retries}`."""
    if isinstance(action, Mapping):
        if set(action) != {"type"}:
            raise refusal("the action is a name, or {type: NAME}", hint="e.g. action: cancel_retries")
        action = action["type"]
    return "label" if action == "none" else action


class LogPolicy(Section):
    """One pattern, and what follows when a line of the trial's output holds it.

    Attributes:
        name: Stands with the run whose output matched; null takes the pattern itself. `CUDA OOM` and `ECC Error` are there by
            default, as labels, and `on_nan`, which carries out `on_nan: fail`: an entry of that name without a pattern switches one off.
        pattern: A regular expression as for RE2, looked for anywhere in a line.
        action: `cancel_retries`: a run that fails is the trial's last. `exclude_node`: later runs of the trial are not placed on
            the machine whose rank printed it. `label` (also `none`): the name only.
    """

    name: str | None = Field(default=None, min_length=1, max_length=128)
    pattern: str | None = Field(default=None, min_length=1)
    action: Annotated[PolicyAction, BeforeValidator(_read_action)] = "label"

    @field_validator("pattern")
    @classmethod
    def _is_understood(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            read_pattern(pattern)
        return pattern

    @property
    def label(self) -> str:
        """Its name, as people read it."""
        return self.name or (self.pattern or "")[:128]


DEFAULT_POLICIES = (
    LogPolicy(name="CUDA OOM", pattern=".*CUDA out of memory.*"),
    LogPolicy(name="ECC Error", pattern=".*uncorrectable ECC error encountered.*"),
    LogPolicy(name="on_nan", pattern="is NaN at step [0-9]+, and on_nan is fail", action="cancel_retries"),
)


def check_policies(policies: Sequence[LogPolicy]) -> None:
    """Raise a refusal for a name that stands twice, or one without a pattern that is no default's."""
    defaults = [policy.name for policy in DEFAULT_POLICIES]
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        if policy.pattern is None and policy.name not in defaults:
            raise refusal(
                "a log policy needs a pattern", "log_policies", index,
                hint=f"without one it switches a default off: {', '.join(map(str, defaults))}",
            )  # fmt: skip
        if policy.label in seen:
            raise refusal(f"two log policies are named '{policy.label}'", "log_policies", index, "name")
        seen.add(policy.label)
