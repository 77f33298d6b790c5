"""`muster audit`: what is listed, written and verified, and how a broken chain is told."""

import json
from pathlib import Path

import httpx

from muster.audit import START, Anchor, link, to_line
from tests.unit.sdk.shell import ID, Shell

RECORD = {
    "sequence": 7, "at": "2026-01-01T00:00:00Z", "id": ID, "actor": "vic", "operation": "CreateExperiment",
    "entity": "experiment", "outcome": "denied", "code": "forbidden", "count": 3, "address": "10.0.0.7", "hash": "00",
}  # fmt: skip


def chain(count: int) -> tuple[list[str], list[Anchor]]:
    lines, anchors = [], [Anchor()]
    for sequence in range(1, count + 1):
        text = json.dumps({"actor": "vic", "sequence": sequence, "tenant": ID}, separators=(",", ":"))
        before = anchors[-1].hash
        anchors.append(Anchor(sequence, link(before, text)))
        lines.append(to_line(text, before, anchors[-1].hash))
    return lines, anchors


def verification(**found: object) -> httpx.Response:
    whole = {"follows": START.hex(), "sequence": 7, "hash": "ab" * 32, "complete": True}
    return httpx.Response(200, json=whole | found)


def test_a_list_says_who_was_refused_what_how_often(shell: Shell) -> None:
    shell.answers["GET /v1/audit"] = httpx.Response(200, json={"items": [RECORD]})
    ended = shell("audit", "list", "--denied", "--entity", "experiment", "--since", "2026-01-01")
    assert all(
        word in ended.out for word in ("vic", "CreateExperiment", "denied 3 times (forbidden)", "10.0.0.7")
    )
    asked = shell.requests[-1].url.params
    assert (asked["outcome"], asked["entity"], asked["since"]) == (
        "denied",
        "experiment",
        "2026-01-01T00:00:00",
    )


def test_an_export_is_written_once_and_verified_without_a_platform(shell: Shell, tmp_path: Path) -> None:
    lines, anchors = chain(3)
    events = "".join(
        f"id: {number}\ndata: {json.dumps({'line': line, 'cursor': str(number)})}\n\n"
        for number, line in enumerate(lines, 1)
    )
    told = httpx.Response(
        200, text=f"{events}event: end\ndata: {{}}\n\n", headers={"content-type": "text/event-stream"}
    )
    shell.answers["GET /v1/site/audit/export"] = told
    file = tmp_path / "log.jsonl"
    assert shell("audit", "export", str(file), "--site").err == "3 records written\n"
    assert file.read_text().splitlines() == lines
    assert shell("audit", "export", str(file), "--site").code == 3
    shell.requests.clear()
    ended = shell("audit", "verify", str(file), "--anchor", str(anchors[2]))
    assert ended.code == 0 and f"3:{anchors[3].hash.hex()}" in ended.err.replace("\n", "")
    assert not shell.requests


def test_a_file_that_was_changed_or_cut_off_is_refused_with_the_record(shell: Shell, tmp_path: Path) -> None:
    lines, anchors = chain(3)
    file = tmp_path / "log.jsonl"
    file.write_text("\n".join([lines[0], lines[1].replace("vic", "bob"), lines[2]]) + "\n")
    ended = shell("audit", "verify", str(file))
    assert ended.code == 3 and "record 2 breaks the chain" in ended.err
    file.write_text("\n".join(lines[:2]) + "\n")
    assert shell("audit", "verify", str(file)).code == 0
    ended = shell("audit", "verify", str(file), "--anchor", str(anchors[3]))
    assert ended.code == 3 and "the file does not contain the anchor's record" in ended.err
    assert "is not an anchor" in shell("audit", "verify", str(file), "--anchor", "3").err


def test_the_platforms_log_is_verified_to_its_end_and_held_to_an_anchor(shell: Shell) -> None:
    shell.answers["GET /v1/audit/verification"] = verification()
    assert "intact up to 7:abab" in shell("audit", "verify").err
    kept = str(Anchor(9, bytes(32)))
    assert "records were removed" in shell("audit", "verify", "--anchor", kept).err
    kept = str(Anchor(5, b"x" * 32))
    assert "was rewritten" in shell("audit", "verify", "--anchor", kept).err.replace("\n", " ")
    shell.answers["GET /v1/audit/verification"] = verification(broken_at=8, broken_by="its hash differs")
    ended = shell("audit", "verify")
    assert ended.code == 3 and "record 8 breaks the chain: its hash differs" in ended.err


def test_a_log_is_held_to_anchors_in_lines_of_any_format(shell: Shell, tmp_path: Path) -> None:
    lines, anchors = chain(3)
    file, kept = tmp_path / "log.jsonl", tmp_path / "spans.json"
    file.write_text("\n".join(lines) + "\n")
    other = f"{'0' * 8}-{'0' * 4}-{'0' * 4}-{'0' * 4}-{'0' * 12}/3:{'c' * 64}"
    spans = [f'{{"key":"anchor","value":{{"stringValue":"{ID}/{anchors[number]}"}}}}' for number in (1, 3)]
    kept.write_text("\n".join([*spans, other, f"noted {anchors[2]}"]))
    ended = shell("audit", "verify", str(file), "--anchors", str(kept))
    assert ended.code == 0 and "it matches 3 anchors" in ended.err.replace("\n", " ")
    kept.write_text(f"{ID}/{Anchor(2, b'x' * 32)}")
    ended = shell("audit", "verify", str(file), "--anchors", str(kept))
    told = ended.err.replace("\n", "")
    assert ended.code == 3 and "record 2 breaks the chain" in told and "spans.json" in told
    kept.write_text(other)
    assert "contains no anchor" in shell("audit", "verify", str(file), "--anchors", str(kept)).err


def test_the_platforms_log_ends_before_an_anchor(shell: Shell, tmp_path: Path) -> None:
    lines, anchors = chain(3)
    shell.answers["GET /v1/audit/verification"] = verification(anchors=None)
    shell.answers["GET /v1/audit/head"] = httpx.Response(
        200, json={"tenant": ID, "sequence": 2, "hash": anchors[2].hash.hex()}
    )
    events = "".join(f"data: {json.dumps({'line': line, 'cursor': '1'})}\n\n" for line in lines[:2])
    shell.answers["GET /v1/audit/export"] = httpx.Response(
        200, text=f"{events}event: end\ndata: {{}}\n\n", headers={"content-type": "text/event-stream"}
    )
    kept = tmp_path / "anchors"
    kept.write_text(f"{anchors[2]}\n{anchors[3]}\n")
    told = shell("audit", "verify", "--anchors", str(kept)).err.replace("\n", " ")
    assert "record 3 breaks the chain" in told and "records were removed" in told
    assert "no external anchors were compared" in shell("audit", "verify").err.replace("\n", " ")


def test_the_anchor_that_disagrees_is_named(shell: Shell) -> None:
    told = {
        "broken_at": 8,
        "broken_by": "records were removed",
        "broken_anchor": "s3://b/anchors/1",
        "anchors": 2,
    }
    shell.answers["GET /v1/audit/verification"] = verification(**told)
    assert "s3://b/anchors/1" in shell("audit", "verify").err
