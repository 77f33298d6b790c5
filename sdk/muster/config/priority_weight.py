"""Numbers whose errors state the full range: priority and fair-share weight."""

from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from muster.config.base_section import refusal

_BEYOND = frozenset({"greater_than", "greater_than_equal", "less_than", "less_than_equal"})


class _Within:
    """Reports a value out of range with the full range."""

    def __init__(self, range_text: str) -> None:
        self._range_text = range_text

    def __call__(self, value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            if error.errors()[0]["type"] not in _BEYOND:
                raise
            raise refusal(f"{value} is not {self._range_text}") from None


Priority = Annotated[int, Field(ge=1, le=99), WrapValidator(_Within("between 1 (first) and 99 (last)"))]
Weight = Annotated[float, Field(gt=0, le=1_000_000), WrapValidator(_Within("above 0 and at most 1000000"))]
