"""Log policies: patterns to search in the output of a run, and the matches. Pure."""

import re
from collections.abc import Iterable, Sequence

from muster.config.log_patterns import Pattern, read_pattern
from muster.config.log_policies import DEFAULT_POLICIES
from shared.messages.trial_specs import LogPolicy, PolicyMatch

# A trial that prints its config would match every policy in it.
_OWN_TEXT = re.compile(r"log_policies|^[\s\-,{]*[\"']?pattern[\"']?\s*:")
_NOT_PLAIN = re.compile(r"[\\.^$*+?{}\[\]|()]")


class Policies:
    """The policies of one run that have not matched yet: each matches once."""

    def __init__(self, given: Sequence[LogPolicy], met: Iterable[PolicyMatch]) -> None:
        names = {match.name for match in met}
        self._open = [(match, pattern) for match, pattern in _all_of(given) if match.name not in names]

    def met_by(self, line: str) -> tuple[PolicyMatch, ...]:
        """Return the policies that this line matches, and stop searching for them."""
        found = [entry for entry in self._open if entry[1].is_in(line)]
        if not found or _OWN_TEXT.search(line):
            return ()
        found = [(match, pattern) for match, pattern in found if not _is_quoted(pattern.text, line)]
        self._open = [entry for entry in self._open if entry not in found]
        return tuple(match for match, _ in found)


def _all_of(given: Sequence[LogPolicy]) -> list[tuple[PolicyMatch, Pattern]]:
    """Return the given policies with a pattern, then the defaults that none of them overrides."""
    named = {policy.name for policy in given}
    rest = (policy for policy in DEFAULT_POLICIES if policy.name not in named)
    texts = [(policy.name, policy.pattern, policy.action) for policy in given]
    texts += [(policy.label, policy.pattern or "", policy.action) for policy in rest]
    return [
        (PolicyMatch(name=name, action=action), read_pattern(text)) for name, text, action in texts if text
    ]


def _is_quoted(pattern: str, line: str) -> bool:
    """Whether the line contains the pattern itself instead of a match."""
    return pattern in line and _NOT_PLAIN.search(pattern) is not None
