"""`log_policies` of the config: patterns in a trial's log, and the actions that they trigger."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from muster.config.base_section import Section, refusal
from muster.config.log_patterns import read_pattern

PolicyAction = Literal["cancel_retries", "exclude_node", "label"]


def _read_action(action: object) -> object:
    """Accept `none`, as in Determined, and the older form `{type: cancel_retries}`."""
    if isinstance(action, Mapping):
        if set(action) != {"type"}:
            raise refusal("the action must be a name or {type: NAME}", hint="e.g. action: cancel_retries")
        action = action["type"]
    return "label" if action == "none" else action


class LogPolicy(Section):
    """A pattern, and the action when a line of a trial's output matches.

    Attributes:
        name: Name shown with a run whose output matched; null uses the pattern. The default policies are `CUDA OOM` and
            `ECC Error`, which set labels, and `on_nan`, which implements `on_nan: fail`; an entry with the name of a default
            and without a pattern disables that default.
        pattern: A regular expression in RE2 syntax, searched anywhere in a line.
        action: `cancel_retries`: a failed run is not repeated. `exclude_node`: later runs of the trial are not placed on the
            machine whose rank printed the line. `label` (or `none`): only set the name as a label.
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
        """Display name."""
        return self.name or (self.pattern or "")[:128]


DEFAULT_POLICIES = (
    LogPolicy(name="CUDA OOM", pattern=".*CUDA out of memory.*"),
    LogPolicy(name="ECC Error", pattern=".*uncorrectable ECC error encountered.*"),
    LogPolicy(name="on_nan", pattern="is NaN at step [0-9]+, and on_nan is fail", action="cancel_retries"),
)


def check_policies(policies: Sequence[LogPolicy]) -> None:
    """Raise a refusal for a repeated name, or an entry without a pattern that does not name a default policy."""
    defaults = [policy.name for policy in DEFAULT_POLICIES]
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        if policy.pattern is None and policy.name not in defaults:
            raise refusal(
                "a log policy needs a pattern", "log_policies", index,
                hint=f"an entry without a pattern disables a default policy: {', '.join(map(str, defaults))}",
            )  # fmt: skip
        if policy.label in seen:
            raise refusal(f"the log policy name '{policy.label}' is repeated", "log_policies", index, "name")
        seen.add(policy.label)
