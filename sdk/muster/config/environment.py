"""What the processes of a trial find around them: variables, and packages of their own."""

import re
from pathlib import PurePosixPath

from pydantic import Field, field_validator

from muster.config.section import Section, refusal

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = re.compile(
    r"MUSTER_.*|HOROVOD_(?:(?:LOCAL_|CROSS_)?(?:RANK|SIZE)|HOSTNAME|GLOO_RENDEZVOUS_.*|CONTROLLER|CPU_OPERATIONS)"
)
"""What the platform tells a rank; whatever else Horovod reads is the user's to say."""
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class Environment(Section):
    """What the trial's processes find around them.

    Attributes:
        environment_variables: `NAME=VALUE` each; `$A` of one further up is replaced.
        requirements: A file of the experiment's code, such as `requirements.txt`: what it names is installed by pip over what the
            worker has, once per machine; the experiments with the same file share it. It cannot replace the worker's torch, Horovod,
            numpy and SDK.
    """

    environment_variables: tuple[str, ...] = Field(default=(), max_length=1000, strict=False)
    requirements: str | None = Field(default=None, min_length=1, max_length=255)

    @field_validator("requirements")
    @classmethod
    def _lies_in_the_code(cls, requirements: str | None) -> str | None:
        path = PurePosixPath(requirements or "")
        if path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise refusal(
                "this is no file of the experiment's code", hint="e.g. requirements: requirements.txt"
            )
        return requirements

    @field_validator("environment_variables")
    @classmethod
    def _are_assignments(cls, variables: tuple[str, ...]) -> tuple[str, ...]:
        for index, variable in enumerate(variables):
            name, equals, _ = variable.partition("=")
            if not equals or not _VARIABLE.fullmatch(name):
                raise refusal("an environment variable is written NAME=VALUE", index)
            if _OWN.fullmatch(name):
                raise refusal(f"{name} is set by Muster itself", index, hint="leave it out")
        return variables

    def variables(self) -> dict[str, str]:
        """Return name to value; `$A` and `${A}` of variables further up are replaced, others stay."""
        values: dict[str, str] = {}
        for variable in self.environment_variables:
            name, _, text = variable.partition("=")
            values[name] = _REFERENCE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
        return values
