"""Base classes of messages: frozen models whose class names the subject. `shared.bus` carries them."""

import json
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from shared.ids import TenantId, WorkerId, subject_token

Reply = TypeVar("Reply", bound=BaseModel)


class Record(BaseModel):
    """Part of a message. Readers ignore unknown fields; a version only ever adds fields."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings")

    def as_json(self) -> dict[str, Any]:
        """Return the model as JSON data for a column. NaN and infinities become strings, because Postgres rejects them as numbers."""
        return dict(json.loads(self.model_dump_json()))


class Message(Record):
    """A message on the bus. The envelope carries its type name and version."""

    TYPE: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1

    def to_bytes(self) -> bytes:
        """Return the JSON to send. NaN and infinities are strings, which every reader converts back to floats."""
        return self.__pydantic_serializer__.to_json(self)

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Parse a payload.

        Raises:
            pydantic.ValidationError: The payload is not of this type.
        """
        return cls.model_validate_json(payload)


class Event(Message):
    """A fact, named in the past tense, with the entity's full public state and its strictly increasing version.

    `key` names the field that holds the entity's id. The outbox keeps the newest such event of each entity forever, so that it can be
    republished. An event without a key describes no entity but a single occurrence, such as a stored result or a rejected command. `line`
    separates events of one entity whose versions are counted independently.
    """

    ENTITY: ClassVar[str] = ""
    KEY: ClassVar[str] = ""
    LINE: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(
        cls, entity: str = "", happened: str = "", key: str = "", line: str = "", **kwargs: Any
    ) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.KEY, cls.LINE = key or cls.KEY, line or entity
        if happened:
            cls.ENTITY, cls.TYPE = entity, f"{entity}.{happened}"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def subject(cls, tenant: TenantId | str) -> str:
        return f"evt.v{cls.VERSION}.{tenant}.{cls.TYPE}"

    @property
    def whose_state(self) -> str | None:
        """Key of the state that the event supersedes; None if it describes no entity."""
        return f"{self.LINE}:{getattr(self, self.KEY)}" if self.KEY else None


class Command(Message):
    """A request to the service that owns the entity. An event of the entity or `operation.refused` answers it."""

    OWNER: ClassVar[str] = ""

    operation_id: UUID
    expected_version: int | None = None

    @classmethod
    def __pydantic_init_subclass__(cls, owner: str = "", verb: str = "", **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if verb:
            cls.OWNER, cls.TYPE = owner, f"{owner}.{verb}"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def subject(cls) -> str:
        return f"cmd.v{cls.VERSION}.{cls.TYPE}"


class Query(Message, Generic[Reply]):
    """A question to its owner, answered by `Reply` or by an error of the error tree.

    A query normally changes nothing that the owner publishes. One that does (decision 0056) is idempotent.
    """

    OWNER: ClassVar[str] = ""
    REPLY: ClassVar[type[BaseModel]]

    @classmethod
    def __pydantic_init_subclass__(cls, owner: str = "", name: str = "", **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if name:
            cls.OWNER, cls.TYPE, cls.REPLY = owner, f"{owner}.{name}", _reply_type(cls)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def subject(cls) -> str:
        return f"qry.v{cls.VERSION}.{cls.TYPE}"


class WorkerRequest(Message, Generic[Reply]):
    """A worker's request to the owner: `rpt` for reports from its journal, `wrq` for the rest. The subject authenticates the worker."""

    IS_TRACED: ClassVar[bool] = True
    """Whether answering a request without a trace starts one."""
    FAMILY: ClassVar[str] = ""
    OWNER: ClassVar[str] = ""
    REPLY: ClassVar[type[BaseModel]]

    @classmethod
    def __pydantic_init_subclass__(
        cls, family: str = "wrq", owner: str = "", kind: str = "", **kwargs: Any
    ) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if kind:
            cls.FAMILY, cls.OWNER, cls.TYPE, cls.REPLY = (
                family,
                owner,
                kind,
                _reply_type(cls),
            )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def subject(cls, worker: WorkerId | str) -> str:
        token = worker if worker == "*" else subject_token(WorkerId(worker))
        return f"{cls.FAMILY}.v{cls.VERSION}.{token}.{cls.TYPE}"


class ToWorker(Message):
    """A message to one worker: level-triggered, or the fast path of something level-triggered."""

    @classmethod
    def __pydantic_init_subclass__(cls, kind: str = "", **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if kind:
            cls.TYPE = kind

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def subject(cls, worker: WorkerId) -> str:
        return f"wrk.v{cls.VERSION}.{subject_token(worker)}.{cls.TYPE}"


class Hint(Message):
    """A notification that carries only a cursor. Followers query the owner from their own cursor, and also poll slowly."""

    TYPE = "live.hint"

    entity: str
    id: UUID
    cursor: int
    about: tuple[UUID, ...] | None = Field(
        default=None,
        description="In a tenant's feed, the experiments that changed; null if any of them may have changed.",
    )

    def subject(self, tenant: TenantId) -> str:
        return f"live.v{self.VERSION}.{tenant}.{self.entity}.{self.id}"


def _reply_type(cls: type[BaseModel]) -> type[BaseModel]:
    for base in cls.__mro__:
        arguments = getattr(base, "__pydantic_generic_metadata__", {}).get("args", ())
        for argument in arguments:
            if isinstance(argument, type) and issubclass(argument, BaseModel):
                return argument
        for original in getattr(base, "__orig_bases__", ()):
            for argument in get_args(original):
                if isinstance(argument, type) and issubclass(argument, BaseModel):
                    return argument
    raise TypeError(f"{cls.__name__} has no reply type: subclass Query[Reply] or WorkerRequest[Reply]")
