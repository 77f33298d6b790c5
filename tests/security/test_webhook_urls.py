"""Attack: a webhook URL with control characters, to add header lines to the request or lines to a log."""

import httpx
import pytest


@pytest.mark.parametrize("character", ["\r\n", "\r", "\n", "\t", "\x1b", "\x7f", "\x85", "\u2028"])
async def test_a_control_character_in_a_url_is_refused(api: httpx.AsyncClient, character: str) -> None:
    for url in (
        f"https://hooks.example.com/a{character}X-Added: 1",
        f"https://hooks.example.com/{character}",
        f"{character}https://hooks.example.com/",
    ):
        body = {"name": "hook", "url": url, "events": ["experiment.completed"]}
        answer = await api.post("/v1/webhooks", json=body)
        assert answer.status_code in (400, 422), (url, answer.text)
        assert "control character" in answer.json()["detail"], answer.text
