import pytest

from shared.errors import Broken, Conflict, NotFound, Rejected, Transient, meaning_of


@pytest.mark.parametrize(
    ("error", "settlement", "http", "grpc"),
    [
        (Rejected("unknown_key", "no"), "dead_letter", 422, "INVALID_ARGUMENT"),
        (Rejected("unauthenticated", "no"), "dead_letter", 401, "UNAUTHENTICATED"),
        (NotFound("trial 3"), "dead_letter", 404, "NOT_FOUND"),
        (Conflict("paused", "no"), "nak", 409, "FAILED_PRECONDITION"),
        (Transient("away"), "nak", 503, "UNAVAILABLE"),
        (Transient("late", code="timeout"), "nak", 504, "DEADLINE_EXCEEDED"),
        (Broken("ours"), "dead_letter", 500, "INTERNAL"),
        (RuntimeError("unforeseen"), "nak", 500, "INTERNAL"),
    ],
)
def test_every_error_means_something_on_every_edge(
    error: Exception, settlement: str, http: int, grpc: str
) -> None:
    meaning = meaning_of(error)
    assert (meaning.settlement, meaning.http, meaning.grpc) == (settlement, http, grpc)
