"""What every source of master keys of user secrets must do: local keys, and a key management service behind the same port."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from muster.errors import Broken, Rejected
from services.gateway.platform.dependencies import MasterKeys
from services.gateway.user_secrets.core import Envelope, SecretId
from services.gateway.user_secrets.envelopes import decrypt, encrypt, rewrap, seal, unseal
from services.gateway.user_secrets.local_keys import LocalKeys
from shared.ids import TenantId

TENANT = TenantId(UUID(int=7))
DEFAULT = secrets.token_bytes(32)
HF = SecretId(TENANT, "vision", "HF_TOKEN")
VALUE = "hf_q7J2vXrT0bLwYcPz"


@dataclass
class FakeService:
    """A key management service: it encrypts with keys that never leave it, and names them."""

    keys: dict[str, bytes] = field(default_factory=lambda: {"projects/x/keys/1": secrets.token_bytes(32)})

    @property
    def current(self) -> str:
        return next(iter(self.keys))

    async def wrap(self, data_key: bytes, context: bytes) -> bytes:
        return encrypt(self.keys[self.current], data_key, context)

    async def unwrap(self, key_id: str, wrapped: bytes, context: bytes) -> bytes:
        if key_id not in self.keys:
            raise Broken(f"no key {key_id}")
        return decrypt(self.keys[key_id], wrapped, context)


def _from_file(folder: Path, *keys: str) -> LocalKeys:
    path = folder / "secret-keys"
    path.write_text("\n".join(keys) + "\n")
    return LocalKeys.load(path, None, DEFAULT)


@pytest.fixture(params=["pepper", "file", "environment", "service"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> MasterKeys:
    made: dict[str, Callable[[], MasterKeys]] = {
        "pepper": lambda: LocalKeys.load(None, None, DEFAULT),
        "file": lambda: _from_file(tmp_path, "ab" * 32, "cd" * 32),
        "environment": lambda: LocalKeys.load(None, SecretStr(f"{'ab' * 32},{'cd' * 32}"), DEFAULT),
        "service": FakeService,
    }
    return made[request.param]()


async def test_what_was_sealed_is_read_back(keys: MasterKeys) -> None:
    for value in (VALUE, "é" * 20_000, "-----BEGIN-----\nx\n"):
        envelope = await seal(keys, HF, value)
        assert envelope.key_id == keys.current
        assert value.encode() not in envelope.sealed_value + envelope.wrapped_key
        assert await unseal(keys, HF, envelope) == value


async def test_equal_values_have_different_ciphertexts_and_keys(keys: MasterKeys) -> None:
    one, other = await seal(keys, HF, VALUE), await seal(keys, HF, VALUE)
    assert one.sealed_value != other.sealed_value and one.wrapped_key != other.wrapped_key


@pytest.mark.parametrize(
    "moved",
    [
        SecretId(TenantId(uuid4()), "vision", "HF_TOKEN"),
        SecretId(TENANT, "speech", "HF_TOKEN"),
        SecretId(TENANT, "vision", "OTHER"),
    ],
)
async def test_an_envelope_belongs_to_one_tenant_workspace_and_name(
    keys: MasterKeys, moved: SecretId
) -> None:
    envelope = await seal(keys, HF, VALUE)
    with pytest.raises(Broken):
        await unseal(keys, moved, envelope)
    theirs = await seal(keys, moved, "value of the other")
    mixed = Envelope(envelope.key_id, envelope.wrapped_key, theirs.sealed_value)
    with pytest.raises(Broken):
        await unseal(keys, HF, mixed)


async def test_a_changed_bit_is_noticed(keys: MasterKeys) -> None:
    envelope = await seal(keys, HF, VALUE)
    for changed in (
        Envelope(envelope.key_id, envelope.wrapped_key, _flipped(envelope.sealed_value)),
        Envelope(envelope.key_id, _flipped(envelope.wrapped_key), envelope.sealed_value),
        Envelope("unknown", envelope.wrapped_key, envelope.sealed_value),
    ):
        with pytest.raises(Broken):
            await unseal(keys, HF, changed)


async def test_no_key_is_printed(keys: MasterKeys) -> None:
    if isinstance(keys, LocalKeys):
        assert repr(keys) == "LocalKeys()"


async def test_a_new_master_key_takes_over_without_touching_the_values(tmp_path: Path) -> None:
    before = LocalKeys.load(None, None, DEFAULT)
    envelope = await seal(before, HF, VALUE)
    during = _from_file(tmp_path, "ab" * 32)
    wrapped = await rewrap(during, HF, envelope)
    assert (wrapped.key_id, wrapped.sealed_value) == (during.current, envelope.sealed_value)
    assert wrapped.key_id != envelope.key_id
    assert await unseal(during, HF, wrapped) == await unseal(during, HF, envelope) == VALUE
    after = _from_file(tmp_path, "cd" * 32)
    with pytest.raises(Broken, match="which this gateway does not have"):
        await unseal(after, HF, wrapped)


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, f"{'ab' * 32} short"])
def test_a_file_without_good_keys_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(Rejected, match="64 hexadecimal digits"):
        _from_file(tmp_path, text)
    with pytest.raises(Rejected, match="cannot be read"):
        LocalKeys.load(tmp_path / "missing", None, DEFAULT)


def _flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])
