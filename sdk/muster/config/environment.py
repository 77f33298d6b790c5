"""`environment` of the config: environment variables and Python packages of a trial's processes."""

import re
from pathlib import PurePosixPath

from pydantic import Field, field_validator

from muster.config.base_section import Section, refusal

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = re.compile(
    r"MUSTER_.*|HOROVOD_(?:(?:LOCAL_|CROSS_)?(?:RANK|SIZE)|HOSTNAME|GLOO_RENDEZVOUS_.*|CONTROLLER|CPU_OPERATIONS)"
)
"""Variables that the platform sets for each rank; users may set all other Horovod variables."""
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class Environment(Section):
    """Environment of a trial's processes.

    Attributes:
        environment_variables: Entries `NAME=VALUE`; `$A` is replaced by the value of an earlier variable.
        requirements: A file of the experiment's code, such as `requirements.txt`, whose packages pip installs in addition to the
            worker's, once per machine; experiments with the same file share the installation. It cannot replace the worker's
            torch, Horovod, numpy or SDK.
    """

    environment_variables: tuple[str, ...] = Field(default=(), max_length=1000, strict=False)
    requirements: str | None = Field(default=None, min_length=1, max_length=255)

    @field_validator("requirements")
    @classmethod
    def _lies_in_the_code(cls, requirements: str | None) -> str | None:
        path = PurePosixPath(requirements or "")
        if path.is_absolute() or ".." in path.parts or "\0" in str(path):
            raise refusal(
                "requirements must be the path of a file in the experiment's code",
                hint="e.g. requirements: requirements.txt",
            )
        return requirements

    @field_validator("environment_variables")
    @classmethod
    def _are_assignments(cls, variables: tuple[str, ...]) -> tuple[str, ...]:
        for index, variable in enumerate(variables):
            name, equals, _ = variable.partition("=")
            if not equals or not _VARIABLE.fullmatch(name):
                raise refusal("an environment variable must have the form NAME=VALUE", index)
            if _OWN.fullmatch(name):
                raise refusal(f"{name} is set by Muster", index, hint="remove it")
        return variables

    def variables(self) -> dict[str, str]:
        """Return values by name; `$A` and `${A}` of earlier variables are replaced, others stay."""
        values: dict[str, str] = {}
        for variable in self.environment_variables:
            name, _, text = variable.partition("=")
            values[name] = _REFERENCE.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
        return values
