"""What is generated from the table of operations is checked in as it would be generated now."""

from services.gateway.generate import LOCK, PROTO, ROOT, generated, load_lock, stubs


def test_documents_and_stubs_are_fresh() -> None:
    files = generated(load_lock())
    files |= stubs(files[PROTO])
    stale = [str(path) for path, content in files.items() if (ROOT / path).read_bytes() != content]
    assert stale == [], "run `make gen`"


def test_the_lock_holds_every_number_once() -> None:
    for message, numbers in load_lock().items():
        assert len(set(numbers.values())) == len(numbers), f"{LOCK}: {message} gives a number twice"
