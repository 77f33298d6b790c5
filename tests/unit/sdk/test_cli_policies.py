"""`muster template`, `muster policy`, `muster quota` and `muster budget` as who leads a workspace meets them."""

from pathlib import Path

import httpx
import pytest

from tests.unit.sdk.shell import CONFIG, EXPERIMENT, Shell

TEMPLATE = {
    "name": "gpu", "workspace": "vision", "description": "racks", "config": {"resources": {"slots_per_trial": 2}},
    "changed_at": "2026-12-01T08:00:00Z", "by": "ann",
}  # fmt: skip
POLICY = {
    "workspace": "vision",
    "invariant_config": {"max_restarts": 2},
    "max_slots": 8,
    "priority_limit": 30,
}
GUARD = """
invariant_config: {max_restarts: 2}
constraints:
  resources: {max_slots: 8}
  priority_limit: 30
"""


def test_a_template_is_kept_shown_and_taken_away(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "gpu.yaml").write_text("resources:\n  slots_per_trial: 2\n")
    shell.answers["POST /v1/templates"] = httpx.Response(201, json=TEMPLATE)
    made = shell("template", "create", "gpu", str(tmp_path / "gpu.yaml"), "-w", "vision")
    assert made.err == "template gpu created for workspace vision\n"
    assert shell.sent("POST", "/v1/templates") == {
        "name": "gpu", "config": {"resources": {"slots_per_trial": 2}}, "description": "", "workspace": "vision",
    }  # fmt: skip
    shell.answers["GET /v1/templates"] = httpx.Response(200, json={"items": [TEMPLATE]})
    assert "workspace vision" in shell("template", "list").out
    shell.answers["GET /v1/templates/gpu"] = httpx.Response(200, json=TEMPLATE)
    assert shell("template", "show", "gpu").out == "resources:\n  slots_per_trial: 2\n"
    shell.answers["DELETE /v1/templates/gpu"] = httpx.Response(200, json={})
    assert "deleted" in shell("template", "delete", "gpu").err


def test_a_policys_file_is_determineds(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "guard.yaml").write_text(GUARD)
    shell.answers["PUT /v1/policies"] = httpx.Response(200, json=POLICY)
    said = shell("policy", "set", str(tmp_path / "guard.yaml"), "-w", "vision")
    assert said.err == "workspace vision: max_slots 8, priority_limit 30, sets max_restarts\n"
    assert shell.sent("PUT", "/v1/policies") == POLICY


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("constraint: {}", "constraint"),
        ("constraints: {max_slots: 3}", "constraints.max_slots"),
        ("constraints: {resources: {slots: 3}}", "constraints.resources.slots"),
        ("constraints: {resources: {max_slots: many}}", "constraints.resources.max_slots"),
        ("constraints: 3", "constraints"),
    ],
)
def test_a_policy_that_would_hold_for_nothing_is_refused(
    shell: Shell, tmp_path: Path, text: str, place: str
) -> None:
    (tmp_path / "guard.yaml").write_text(text)
    refused = shell("policy", "set", str(tmp_path / "guard.yaml"))
    assert refused.code == 3 and place in refused.err


def test_what_a_template_completes_is_not_refused_before_it_is_sent(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(CONFIG.replace("entrypoint: python3 train.py\n", ""))
    shell.answers["POST /v1/experiments"] = httpx.Response(201, json=EXPERIMENT)
    (tmp_path / "code").mkdir()
    made = shell(
        "experiment", "create", str(tmp_path / "part.yaml"), str(tmp_path / "code"), "--template", "gpu"
    )
    assert made.code == 0, made.err
    assert shell.sent("POST", "/v1/experiments")["template"] == "gpu"


def test_a_quota_is_said_in_a_sentence(shell: Shell) -> None:
    quota = {"tenant": "acme", "workspace": "vision", "max_experiments": 20, "requests_per_s": 2.5}
    shell.answers["PUT /v1/quotas/workspace"] = httpx.Response(200, json=quota)
    said = shell("quota", "set", "-w", "vision", "--experiments", "20", "--requests", "2.5").err
    assert " ".join(said.split()) == (
        "workspace vision may have at most 20 open experiments; requests: 2.5 a second; stored: limited only by the tenant"
    )
    assert shell.sent("PUT", "/v1/quotas/workspace") == {
        "workspace": "vision", "max_experiments": 20, "requests_per_s": 2.5,
    }  # fmt: skip
    shell.answers["GET /v1/quotas"] = httpx.Response(200, json={"items": [quota]})
    assert "workspace vision" in shell("quota", "list").out
    assert shell("quota", "set", "-w", "vision", "--tenant", "acme").code == 3
    assert "muster limit storage" in shell("quota", "set", "--stored", "5GB").err


def test_a_workspaces_bytes_are_said_as_people_say_them(shell: Shell) -> None:
    quota = {"tenant": "acme", "workspace": "vision", "max_stored_bytes": 500_000_000_000}
    shell.answers["PUT /v1/quotas/workspace"] = httpx.Response(200, json=quota)
    assert "stored: 465.7 GiB" in " ".join(
        shell("quota", "set", "-w", "vision", "--stored", "500GB").err.split()
    )
    assert shell.sent("PUT", "/v1/quotas/workspace") == {
        "workspace": "vision",
        "max_stored_bytes": 500_000_000_000,
    }
    assert shell("quota", "set", "-w", "vision", "--stored", "much").code == 3


def test_a_budget_is_said_in_a_sentence_and_listed_with_what_was_spent(shell: Shell) -> None:
    budget = {
        "tenant": "acme",
        "workspace": "vision",
        "per_month": 5000,
        "when_spent": "preempt",
        "spent": 4000,
    }
    shell.answers["PUT /v1/budgets/workspace"] = httpx.Response(200, json=budget)
    said = shell("budget", "set", "5000", "-w", "vision", "--preempt").err
    assert " ".join(said.split()) == (
        "workspace vision may spend 5,000.00 a month and has spent 4,000.00 this month;"
        " when the budget is spent, no new trials start and running trials are preempted"
    )
    assert shell.sent("PUT", "/v1/budgets/workspace") == {
        "workspace": "vision", "per_month": 5000.0, "when_spent": "preempt",
    }  # fmt: skip
    shell.answers["GET /v1/budgets"] = httpx.Response(200, json={"items": [budget]})
    listed = shell("budget", "list").out
    assert all(word in listed for word in ("workspace vision", "4,000.00", "5,000.00", "80%", "preempt"))
    shell.answers["PUT /v1/budgets/tenant"] = httpx.Response(200, json={"tenant": "acme"})
    assert "acme has no budget" in shell("budget", "clear").err
    assert shell.sent("PUT", "/v1/budgets/tenant") == {"when_spent": "hold"}
    assert shell("budget", "set", "5000", "-w", "vision", "--tenant", "acme").code == 3
