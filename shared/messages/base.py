"""What every message is: a frozen model whose class names its subject. Neighbours: the families beside it, shared.bus which carries them."""

import json
from typing import Any, ClassVar, Generic, Self, TypeVar, get_args
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from shared.ids import TenantId, WorkerId, subject_token

Reply = TypeVar("Reply", bound=BaseModel)


class Record(BaseModel):
    """A part of a message. Unknown fields are ignored: within a version fields are only added."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings")

    def as_json(self) -> dict[str, Any]:
        """What its JSON text says, for columns: NaN and infinities are strings there too, where `model_dump` leaves numbers that Postgres refuses."""
        return dict(json.loads(self.model_dump_json()))


class Message(Record):
    """Something that travels on the bus; its type name and version stand in the envelope."""

    TYPE: ClassVar[str] = ""
    VERSION: ClassVar[int] = 1

    def to_bytes(self) -> bytes:
        """The JSON that travels; NaN and infinities as strings, which every reader turns back into floats."""
        return self.__pydantic_serializer__.to_json(self)

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Raises pydantic.ValidationError where the payload is not of this type."""
        return cls.model_validate_json(payload)


class Event(Message):
    """A fact, in the past tense, with the entity's whole public state and its strictly rising version.

    `key` names the field that holds the entity's id: of such events the newest is kept for ever, and can be published again. Without
    it the event tells of no entity but of something that happened once: a result that was stored, a command that was refused. `line`
    sets apart events of one entity whose versions are counted apart.
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
        """What the event supersedes earlier events of; None where it tells of no entity."""
        return f"{self.LINE}:{getattr(self, self.KEY)}" if self.KEY else None


class Command(Message):
    """A wish to its one owner; answered by an event of the entity or by `operation.refused`."""

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
    """A question to its one owner, answered by `Reply` or by an error of the tree.

    It changes nothing that the owner publishes; where it does (decision 0056), the same question again changes nothing more.
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
    """A worker's request to the owner: `rpt` for reports from its journal, `wrq` for everything else. The subject proves the worker."""

    IS_TRACED: ClassVar[bool] = True
    """Whether answering one that belongs to no trace begins one."""
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
    """Only a cursor: who follows asks the owner from its own cursor, and on a slow poll too."""

    TYPE = "live.hint"

    entity: str
    id: UUID
    cursor: int
    about: tuple[UUID, ...] | None = Field(
        default=None, description="Of a tenant's feed: the experiments that changed; null: perhaps any."
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
    raise TypeError(f"{cls.__name__} does not say what answers it")
