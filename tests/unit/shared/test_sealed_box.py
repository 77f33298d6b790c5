"""Content that only the holder of one nkey can read."""

import pytest

from muster.errors import Broken
from shared.auth import nats_jwt
from shared.auth.sealed_box import open_sealed, seal_for

SEED, OTHER = (nats_jwt.new_seed(nats_jwt.KeyKind.USER, bytes([number]) * 32) for number in (1, 2))


def test_the_holder_of_the_key_opens_it_and_nobody_else() -> None:
    sealed = seal_for(nats_jwt.public_key(SEED), b"content")
    assert sealed != seal_for(nats_jwt.public_key(SEED), b"content")
    assert open_sealed(SEED, sealed) == b"content"
    for seed, text in ((OTHER, sealed), (SEED, sealed[:-8] + "AAAAAAA="), (SEED, "not base64!")):
        with pytest.raises(Broken, match="sealed for another key"):
            open_sealed(seed, text)
