"""`environment` of the config: environment variables, secrets and Python packages of a trial's processes."""

import re
from pathlib import PurePosixPath

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from muster.config.base_section import Section, refusal, rule
from muster.config.containers import Capability, Image, RegistryAuth, SecretName

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OWN = re.compile(
    r"MUSTER_.*|HOROVOD_(?:(?:LOCAL_|CROSS_)?(?:RANK|SIZE)|HOSTNAME|GLOO_RENDEZVOUS_.*|CONTROLLER|CPU_OPERATIONS)"
)
"""Variables that the platform sets for each rank; users may set all other Horovod variables."""
_KNOWN_TO_0_2_0 = frozenset({"environment_variables", "requirements"})
_REFERENCE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class SecretReference(Section):
    """A secret of the experiment's workspace that the trial's processes get.

    Attributes:
        name: Its name in the workspace, and the name of the environment variable.
        file: Path below the home directory of a file that contains the value, in place of the variable.
    """

    name: SecretName
    file: str | None = Field(default=None, min_length=1, max_length=255)

    @field_validator("name")
    @classmethod
    def _is_free(cls, name: str) -> str:
        if _OWN.fullmatch(name):
            raise refusal(f"{name} is set by Muster", hint="give the secret another name")
        return name

    @field_validator("file")
    @classmethod
    def _lies_at_home(cls, file: str | None) -> str | None:
        if file is not None and not (_is_below(file) and PurePosixPath(file).name):
            raise refusal(
                "file must be a path below the trial's home directory", hint="e.g. file: .kaggle/kaggle.json"
            )
        return file


class Environment(Section):
    """Environment of a trial's processes.

    Attributes:
        environment_variables: Entries `NAME=VALUE`; `$A` is replaced by the value of an earlier variable.
        requirements: A file of the experiment's code, such as `requirements.txt`, whose packages pip installs in addition to the
            worker's, once per machine; experiments with the same file share the installation. It cannot replace the worker's
            torch, Horovod, numpy or SDK.
        image: Image of a container that the trial runs in, such as `ghcr.io/team/train:1.4`, or one per slot kind:
            `{cpu: …, cuda: …}`. It needs Python 3.11 or newer and your framework; Muster's SDK is mounted.
        force_pull_image: Whether to ask the image's registry at each run instead of using a copy on the machine. The experiment's first
            run resolves the tag, and all runs use the image that it found.
        registry_auth: Credentials for the image's registry.
        add_capabilities: Capabilities of the container's processes, such as `SYS_PTRACE`; by default they have none.
        drop_capabilities: Capabilities to remove from those added, such as by a template.
        secrets: Secrets of the workspace, such as `HF_TOKEN` as an environment variable, or `{name: HF_TOKEN, file: hf/token}` as a
            file below the home directory. Values are read when a run starts, and hidden in its logs.
    """

    environment_variables: tuple[str, ...] = Field(default=(), max_length=1000, strict=False)
    requirements: str | None = Field(default=None, min_length=1, max_length=255)
    image: Image | None = None
    force_pull_image: bool = False
    registry_auth: RegistryAuth | None = None
    add_capabilities: tuple[Capability, ...] = Field(default=(), max_length=64, strict=False)
    drop_capabilities: tuple[Capability, ...] = Field(default=(), max_length=64, strict=False)
    secrets: tuple[SecretReference, ...] = Field(default=(), max_length=64, strict=False)

    @rule
    def _fits_the_container(self) -> None:
        if self.image is not None and self.requirements is not None:
            raise refusal(
                "requirements are installed outside of containers",
                "requirements",
                hint="install the packages in the image",
            )

    @field_validator("secrets", mode="before")
    @classmethod
    def _complete_names(cls, secrets: object) -> object:
        """Accept a bare name for `{name: …}`; entries that a template repeats count once."""
        if not isinstance(secrets, list | tuple):
            return secrets
        entries = [{"name": one} if isinstance(one, str) else one for one in secrets]
        return [one for index, one in enumerate(entries) if one not in entries[:index]]

    @rule
    def _secrets_differ(self) -> None:
        set_here = self.variables()
        files: set[str] = set()
        for index, secret in enumerate(self.secrets):
            if secret.file is None and secret.name in set_here:
                raise refusal(
                    f"{secret.name} is set by environment_variables and by secrets",
                    "secrets",
                    index,
                    hint="remove one of them",
                )
            if secret.file is not None and secret.file in files:
                raise refusal(f"two secrets have the file {secret.file}", "secrets", index)
            files |= {secret.file} if secret.file is not None else set()

    @field_validator("requirements")
    @classmethod
    def _lies_in_the_code(cls, requirements: str | None) -> str | None:
        if requirements is not None and not _is_below(requirements):
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

    @model_serializer(mode="wrap")
    def _without_newer_keys(self, render: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out keys that 0.2.0 does not know, unless they are set: its services refuse configs with unknown keys."""
        values: dict[str, object] = render(self)
        fields = type(self).model_fields
        newer = (name for name in values if name not in _KNOWN_TO_0_2_0)
        unset = {name for name in newer if getattr(self, name) == fields[name].default}
        return {name: value for name, value in values.items() if name not in unset}

    @property
    def secret_names(self) -> frozenset[str]:
        """The names of all secrets that a run may ask for."""
        own = self.registry_auth.secret if self.registry_auth else None
        return frozenset(filter(None, (own, *(secret.name for secret in self.secrets))))


def _is_below(text: str) -> bool:
    """Whether a path is relative and stays below its start."""
    path = PurePosixPath(text)
    return not (path.is_absolute() or ".." in path.parts or "\0" in text)
