"""The error hierarchy shared by the SDK and the platform.

`Rejected`: the request is invalid. `Transient`: retry later. `Conflict`: the state has changed or does not
allow the request. `Broken`: an internal error. Each error has a stable `code` and travels as an RFC 9457 problem
without the HTTP status; the platform maps the classes to HTTP status, message acknowledgement and gRPC code.
"""

from collections.abc import Mapping
from typing import ClassVar

Problem = dict[str, str | float]
"""RFC 9457 members (`type`, `title`, `detail`) and Muster's own (`code`, `place`, `hint`, `retry_after`)."""

PROBLEM_TYPE_PREFIX = "urn:muster:error:"


class MusterError(Exception):
    """Base class of all Muster errors: a message for users and a stable code for programs.

    Attributes:
        kind: Name of the class on the wire; stable.
        title: Short text of the class, the same for all its errors.
        code: Stable identifier of this failure (`unknown_key`, `not_found`, …).
        message: The failure, its location and the remedy.
        place: Location in the caller's input, e.g. `hyperparameters.lr.minval` or `line 3, column 7`.
        hint: Suggested fix, e.g. `did you mean 'searcher'?`.
    """

    kind: ClassVar[str] = "error"
    title: ClassVar[str] = "Muster failed"

    def __init__(self, code: str, message: str, place: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text} ({self.hint})" if self.hint else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.code!r}, {str(self)!r})"

    def __reduce__(self) -> "tuple[object, tuple[Problem]]":
        return from_problem, (to_problem(self),)

    def to_problem(self) -> Problem:
        """Return the error as the members of an RFC 9457 problem."""
        return to_problem(self)


class Rejected(MusterError):
    """The request is invalid; repeating it unchanged gives the same answer."""

    kind = "rejected"
    title = "The request was refused"


class NotFound(Rejected):
    """The resource does not exist, or the caller may not see it (both give the same answer)."""

    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__("not_found", f"{what} was not found", hint=hint)


class Conflict(MusterError):
    """The resource has changed, or its state does not allow the request."""

    kind = "conflict"
    title = "The request conflicts with the present state"


class Transient(MusterError):
    """A service is unavailable; the same request may succeed after `retry_after_s`.

    Attributes:
        retry_after_s: Seconds to wait before the next attempt.
        may_take_effect: The request was stored, or may have been, and may still change something.
    """

    kind = "transient"
    title = "Try again later"

    def __init__(
        self,
        message: str,
        retry_after_s: float = 1.0,
        code: str = "unavailable",
        *,
        may_take_effect: bool = False,
    ) -> None:
        super().__init__(code, message)
        self.retry_after_s = retry_after_s
        self.may_take_effect = may_take_effect


class Broken(MusterError):
    """An internal error: an invariant does not hold. The caller cannot fix it, and a retry does not help."""

    kind = "broken"
    title = "Internal error"

    def __init__(self, message: str, code: str = "broken") -> None:
        super().__init__(code, message)


def to_problem(error: MusterError) -> Problem:
    """Return `error` as the members of an RFC 9457 problem; absent members are omitted."""
    problem: Problem = {
        "type": f"{PROBLEM_TYPE_PREFIX}{error.kind}",
        "title": error.title,
        "code": error.code,
        "detail": error.message,
    }
    if error.place:
        problem["place"] = error.place
    if error.hint:
        problem["hint"] = error.hint
    if isinstance(error, Transient):
        problem["retry_after"] = error.retry_after_s
        if error.may_take_effect:
            problem["may_take_effect"] = True
    return problem


def from_problem(problem: Mapping[str, object]) -> MusterError:
    """Return the error that `problem` describes; unknown members and members of the wrong type are ignored.

    A problem of an unknown class becomes `Broken`, so that errors of newer peers stay errors.
    """
    kind = str(problem.get("type", "")).removeprefix(PROBLEM_TYPE_PREFIX)
    code = str(problem.get("code", "broken"))
    detail = str(problem.get("detail", "no detail was given"))
    place, hint = _text(problem, "place"), _text(problem, "hint")
    if kind == Rejected.kind:
        return _rejected(code, detail, place, hint)
    if kind == Conflict.kind:
        return Conflict(code, detail, place, hint)
    if kind == Transient.kind:
        may_take_effect = problem.get("may_take_effect") is True
        return Transient(detail, _seconds(problem.get("retry_after")), code, may_take_effect=may_take_effect)
    return Broken(detail, code)


def uncertain(error: Transient, path: str) -> Transient:
    """Return `error` extended for a request that changes state: it may still take effect, and which command shows the result.

    Args:
        path: Path of the request, such as `/v1/experiments/12/pause`.
    """
    if error.may_take_effect:
        return error
    look = _where_to_look(path)
    check = f"check with `{look}` before you retry" if look else "check its effect before you retry"
    return Transient(
        f"{error.message}; the request may have been stored and may still take effect: {check}",
        error.retry_after_s,
        error.code,
        may_take_effect=True,
    )


def describe_fault(kind: str, message: str, context: Mapping[str, object]) -> str:
    """Return a validation error of a pydantic model in plain words.

    Args:
        kind: The pydantic error type; types without a sentence here return `message`.
        message: Pydantic's own message.
        context: The limits that the value violates.
    """
    if kind == "string_too_short" and context.get("min_length") == 1:
        return "this must not be empty"
    try:
        return _FAULTS.get(kind, message).format_map(context)
    except (KeyError, ValueError, IndexError):
        return message


_FAULTS = {
    "missing": "this is missing",
    "value_error": "{error}",
    "extra_forbidden": "unknown field",
    "int_type": "this must be a whole number",
    "int_parsing": "this must be a whole number",
    "int_from_float": "this must be a whole number",
    "float_type": "this must be a number",
    "float_parsing": "this must be a number",
    "bool_type": "this must be true or false",
    "bool_parsing": "this must be true or false",
    "string_type": "this must be text",
    "tuple_type": "this must be a list",
    "list_type": "this must be a list",
    "dict_type": "this must be a mapping",
    "model_type": "this must be a mapping",
    "model_attributes_type": "this must be a mapping",
    "greater_than": "this must be above {gt}",
    "greater_than_equal": "this must be at least {ge}",
    "less_than": "this must be below {lt}",
    "less_than_equal": "this must be at most {le}",
    "multiple_of": "this must be a multiple of {multiple_of}",
    "enum": "this must be {expected}",
    "literal_error": "this must be {expected}",
    "too_short": "this is too short: it needs {min_length} or more entries",
    "too_long": "this is too long: it may have {max_length} entries",
    "string_too_short": "this must have at least {min_length} characters",
    "string_too_long": "this must have at most {max_length} characters",
    "string_pattern_mismatch": "this must match {pattern}",
}


_COMMANDS = {
    "experiments": "experiment",
    "bulk": "experiment",
    "trials": "trial",
    "models": "model",
    "pools": "pool",
    "checkpoints": "checkpoint",
    "workers": "worker",
    "instances": "instance",
    "reservations": "reservation",
    "limits": "limit",
    "quotas": "quota",
    "budgets": "budget",
    "templates": "template",
    "users": "user",
    "groups": "group",
    "roles": "role",
    "tenants": "tenant",
    "webhooks": "webhook",
}
"""Command noun by the first segment of a request path."""
_DESCRIBED = ("experiments", "trials", "models", "pools", "checkpoints")
"""Collections whose items have a `describe` command."""


def _where_to_look(path: str) -> str | None:
    """The command that shows the effect of a request to this path."""
    collection, _, rest = path.removeprefix("/v1/").partition("/")
    noun, one = _COMMANDS.get(collection), rest.partition("/")[0]
    if noun is None:
        return None
    has_describe = (
        one and collection in _DESCRIBED and not rest.endswith("/fork")
    )  # A fork creates a new experiment, not shown under this number.
    return f"muster {noun} describe {one}" if has_describe else f"muster {noun} list"


def _rejected(code: str, detail: str, place: str | None, hint: str | None) -> Rejected:
    branch = NotFound if code == "not_found" else Rejected
    error = branch.__new__(branch)
    Rejected.__init__(error, code, detail, place, hint)
    return error


def _text(problem: Mapping[str, object], member: str) -> str | None:
    value = problem.get(member)
    return value if isinstance(value, str) and value else None


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value >= 0 else 1.0
