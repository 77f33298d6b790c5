"""`muster secret`: values come from standard input or a file, and are never printed."""

from pathlib import Path

import httpx
import pytest

from tests.unit.sdk.shell import Shell

SECRET = {
    "name": "HF_TOKEN",
    "workspace": "vision",
    "created_at": "2026-12-01T08:00:00Z",
    "changed_at": "2026-12-02T08:00:00Z",
    "by": "ada",
}
PATH = "/v1/workspaces/vision/secrets/HF_TOKEN"


@pytest.fixture
def answering(shell: Shell) -> Shell:
    shell.answers[f"PUT {PATH}"] = httpx.Response(200, json=SECRET)
    return shell


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"hf_abcdefgh", "hf_abcdefgh"),
        (b"hf_abcdefgh\n", "hf_abcdefgh"),
        (b"hf_abcdefgh\r\n", "hf_abcdefgh"),
        (b"first line\nsecond line\n", "first line\nsecond line\n"),
    ],
)
def test_a_value_is_read_from_a_file(answering: Shell, tmp_path: Path, content: bytes, value: str) -> None:
    (tmp_path / "value").write_bytes(content)
    said = answering("secret", "set", "HF_TOKEN", "-w", "vision", "--file", str(tmp_path / "value"))
    assert answering.sent("PUT", PATH) == {"secret_value": value}
    assert said.err == "secret HF_TOKEN of workspace vision set\n"


def test_what_is_not_text_is_refused(answering: Shell, tmp_path: Path) -> None:
    (tmp_path / "value").write_bytes(b"\xff\xfe\x00\x01")
    said = answering("secret", "set", "HF_TOKEN", "-w", "vision", "--file", str(tmp_path / "value"))
    assert said.code == 3 and "not UTF-8 text" in said.err
    said = answering("secret", "set", "HF_TOKEN", "-w", "vision", "--file", str(tmp_path / "none"))
    assert said.code == 3 and "cannot be read" in said.err


def test_a_value_cannot_be_an_argument(answering: Shell) -> None:
    assert answering("secret", "set", "HF_TOKEN", "hf_abcdefgh", "-w", "vision").code == 2


def test_secrets_are_listed_and_deleted(shell: Shell) -> None:
    shell.answers["GET /v1/workspaces/vision/secrets"] = httpx.Response(200, json={"items": [SECRET]})
    said = shell("secret", "list", "-w", "vision").out
    assert "HF_TOKEN" in said and "ada" in said
    shell.answers[f"DELETE {PATH}"] = httpx.Response(200, json={})
    assert (
        "secret HF_TOKEN of workspace vision deleted"
        in shell("secret", "delete", "HF_TOKEN", "-w", "vision").err
    )
