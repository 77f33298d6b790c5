"""A machine is the instance that AWS has signed it to be, by a certificate that the site has pinned."""

from base64 import b64encode
from pathlib import Path

import pytest

from services.provisioner.drivers.aws.identity import AwsIdentity, read_keys
from shared.errors import Rejected
from tests.support.instance_identity import Signer


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer(tmp_path_factory.mktemp("aws"))


@pytest.fixture
def identity(signer: Signer, tmp_path: Path) -> AwsIdentity:
    """Two certificates are pinned: AWS changes them, and announces the next."""
    both = tmp_path / "both.pem"
    both.write_bytes(Signer(tmp_path, "next").certificate.read_bytes() + signer.certificate.read_bytes())
    return AwsIdentity("us-east-1", read_keys(both))


async def test_the_instance_is_the_one_that_was_signed(signer: Signer, identity: AwsIdentity) -> None:
    assert await identity.machine_of(**signer.identity("i-0abc")) == "i-0abc"


async def test_what_was_not_signed_so_is_refused(
    signer: Signer, identity: AwsIdentity, tmp_path: Path
) -> None:
    good = signer.identity("i-0abc")
    wrong = {
        "another instance": good | {"document": good["document"].replace("i-0abc", "i-0def")},
        "another's signature": Signer(tmp_path, "stranger").identity("i-0abc"),
        "another region": signer.identity("i-0abc", "eu-west-1"),
        "no base64": good | {"signature": "-----"},
        "nothing": {"document": "", "signature": ""},
        "noise": good | {"signature": b64encode(b"x" * 256).decode()},
    }
    for what, shown in wrong.items():
        with pytest.raises(Rejected) as refused:
            await identity.machine_of(**shown)
        assert refused.value.code == "bad_identity", what


def test_certificates_that_cannot_be_read_are_told_with_their_file(tmp_path: Path) -> None:
    for file in (tmp_path / "absent.pem", tmp_path / "text.pem"):
        (tmp_path / "text.pem").write_text("no certificate")
        with pytest.raises(Rejected, match=file.name) as refused:
            read_keys(file)
        assert refused.value.place == "identity_certificates"
