import copy
import json
import pickle

import pytest

from muster.errors import (
    Broken,
    Conflict,
    MusterError,
    NotFound,
    Rejected,
    Transient,
    describe_fault,
    from_problem,
    to_problem,
)

ERRORS = [
    Rejected("unknown_key", "the key 'x' is not known", "searcher.x", "did you mean 'y'?"),
    NotFound("experiment 3"),
    Conflict("version_changed", "somebody was faster"),
    Transient("NATS is away", 2.5),
    Broken("this cannot be"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_travels_whole(error: MusterError) -> None:
    problem = json.loads(json.dumps(to_problem(error)))
    for back in (from_problem(problem), pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(back) is type(error)
        assert (str(back), back.code, back.place, back.hint) == (
            str(error),
            error.code,
            error.place,
            error.hint,
        )
        assert getattr(back, "retry_after_s", None) == getattr(error, "retry_after_s", None)


def test_a_problem_of_a_newer_peer_stays_an_error() -> None:
    error = from_problem({"type": "urn:muster:error:novel", "code": "novel", "detail": "?", "hint": 5})
    assert isinstance(error, Broken)
    assert (error.code, error.hint) == ("novel", None)
    assert isinstance(from_problem({}), MusterError)


def test_text_for_people() -> None:
    assert str(ERRORS[0]) == "searcher.x: the key 'x' is not known (did you mean 'y'?)"
    assert str(ERRORS[1]) == "experiment 3 was not found"


@pytest.mark.parametrize(
    ("kind", "context", "said"),
    [
        ("greater_than_equal", {"ge": 0}, "this must be at least 0"),
        ("string_too_short", {"min_length": 1}, "this must not be empty"),
        ("enum", {"expected": "'a' or 'b'"}, "this must be 'a' or 'b'"),
        ("value_error", {"error": ValueError("{x} is odd")}, "{x} is odd"),
        ("greater_than_equal", {}, "as pydantic says"),
        ("a new kind {}", {}, "as pydantic says"),
    ],
)
def test_a_schema_s_fault_is_told_in_our_words(kind: str, context: dict[str, object], said: str) -> None:
    assert describe_fault(kind, "as pydantic says", context) == said
