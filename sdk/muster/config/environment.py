"""`environment` of the config: environment variables and Python packages of a trial's processes."""

import re
from pathlib import PurePosixPath

from pydantic import Field, field_validator

from muster.config.base_section import Section, refusal, rule
from muster.config.containers import Capability, Image, RegistryAuth

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
        image: Image of a container that the trial runs in, such as `ghcr.io/team/train:1.4`, or one per slot kind:
            `{cpu: …, cuda: …}`. It needs Python 3.11 or newer and your framework; Muster's SDK is mounted.
        force_pull_image: Whether to ask the registry for a newer image of this name at each run.
        registry_auth: Credentials for the image's registry.
        add_capabilities: Capabilities of the container's processes, such as `SYS_PTRACE`; by default they have none.
        drop_capabilities: Capabilities to remove from those added, such as by a template.
    """

    environment_variables: tuple[str, ...] = Field(default=(), max_length=1000, strict=False)
    requirements: str | None = Field(default=None, min_length=1, max_length=255)
    image: Image | None = None
    force_pull_image: bool = False
    registry_auth: RegistryAuth | None = None
    add_capabilities: tuple[Capability, ...] = Field(default=(), max_length=64, strict=False)
    drop_capabilities: tuple[Capability, ...] = Field(default=(), max_length=64, strict=False)

    @rule
    def _fits_the_container(self) -> None:
        if self.image is not None and self.requirements is not None:
            raise refusal(
                "requirements are installed outside of containers",
                "requirements",
                hint="install the packages in the image",
            )

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
