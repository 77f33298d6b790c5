"""Base class of all config sections: frozen, strict, no unknown keys, readable errors."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, Self, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

ACCEPTED = "accepted"
"""Validation context for configs of existing experiments."""

S = TypeVar("S", bound="Section")


class Section(BaseModel):
    """One mapping of the config. A key set to null counts as absent.

    Attributes:
        refused: Unsupported keys of other platforms that would change the meaning of the experiment, and their replacement.
            Other keys of Determined are handled before, by `determined_translation`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    refused: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def of_accepted(cls, given: object) -> Self:
        """Read this section of an existing config without applying rules. Raises pydantic's `ValidationError` if it is not valid."""
        return cls.model_validate(given or {}, context=ACCEPTED)

    @model_validator(mode="before")
    @classmethod
    def _close(cls, values: object) -> object:
        if not isinstance(values, Mapping):
            return values
        kept = {key: value for key, value in values.items() if value is not None or cls._takes_null(key)}
        for key in list(kept):
            if key in cls.model_fields:
                continue
            raise cls._refusal(str(key))
        return kept

    @classmethod
    def _takes_null(cls, key: object) -> bool:
        return key == "val"

    @classmethod
    def _refusal(cls, key: str) -> PydanticCustomError:
        if (reason := cls.refused.get(key)) is not None:
            return refusal(
                f"'{key}' is not supported by Muster: {reason}",
                key,
                code="unsupported_key",
            )
        known = f"valid keys: {', '.join(cls.model_fields)}"
        hint = did_you_mean(key, [*cls.model_fields, *cls.refused]) or known
        return refusal(f"unknown key '{key}'", key, hint=hint, code="unknown_key")


def rule(check: Callable[[S], None]) -> Callable[[S], None]:
    """Decorate a method that validates a section of new configs and raises a refusal.

    Existing configs are not validated again (`load_accepted`), so that rules added later do not break running experiments.
    """

    def judged(section: S, info: ValidationInfo) -> S:
        if info.context != ACCEPTED:
            check(section)
        return section

    return cast("Callable[[S], None]", model_validator(mode="after")(judged))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the closest known name, or an empty string."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else ""


def refusal(message: str, *at: str | int, hint: str = "", code: str = "invalid_value") -> PydanticCustomError:
    """Return an error about the value at path `at` below the section that raises it."""
    context: dict[str, JsonValue] = {"message": message, "hint": hint, "at": list(at)}
    return PydanticCustomError(code, "{message}", context)
