"""For each rule of the auditor, a change that breaks this rule and no other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from orchestrator.evidence.audit.reader import LINE_LIMIT
from tests.evidence.breaking import (  # fmt: skip
    GONE,
    Break,
    append,
    at,
    both,
    document,
    fact,
    first,
    inside,
    lines,
    one_of,
    put,
    removed,
    reordered,
    text,
    where,
    without,
    write,
)

OTHER = "0" * 64


def a_link(bundle: Path) -> None:
    trace = bundle / "foreground_trace.jsonl"
    trace.rename(bundle / "elsewhere")
    trace.symlink_to("elsewhere")


def a_pipe(bundle: Path) -> None:
    (bundle / "foreground_trace.jsonl").unlink()
    os.mkfifo(bundle / "foreground_trace.jsonl")


def a_linked_folder(bundle: Path) -> None:
    (bundle / "screenshots").rename(bundle / "elsewhere")
    (bundle / "screenshots").symlink_to("elsewhere")


def no_tree_in_the_last_step(bundle: Path) -> None:
    """Without a reason; and nothing else is left that speaks of that tree."""
    told = lines(bundle, "obs_trace")
    last, others = told[-1], {line["ui_hash"] for line in told[:-1]}
    if last["ui_hash"] not in others:
        (bundle / "ui_dump" / f"uiautomator_{last['ui_hash'][:16]}.xml").unlink()
    at("obs_trace", -1, ui_hash=None, warning=None)(bundle)
    without("ui_elements", -1)(bundle)


def no_tree_at_all(bundle: Path) -> None:
    told = lines(bundle, "obs_trace")
    write(bundle, "obs_trace", [{**line, "ui_hash": None, "warning": "it moves"} for line in told])
    put("ui_elements.jsonl", b"")(bundle)
    for dump in (bundle / "ui_dump").iterdir():
        dump.unlink()


def no_oracle_at_all(bundle: Path) -> None:
    put("oracle_trace.jsonl", b"")(bundle)
    for raw in (bundle / "oracle_raw").iterdir():
        raw.unlink()


def unproven(bundle: Path) -> None:
    where(reset, lambda n: at("device_trace", n, proven=False, wrong=["it was not"]))(bundle)


def an_effect_that_nobody_told(bundle: Path) -> None:
    post = first("oracle_trace", oracle_name="bad", phase="post")
    where(post, lambda n: inside("oracle_trace", n, "decision", success=False, score=0.0))(bundle)


def of_judgement(**changes: Any) -> Break:
    def do(bundle: Path) -> None:
        told = json.loads((bundle / "attempt.json").read_text())["judgement"]
        document("attempt.json", judgement={**told, **changes})(bundle)

    return do


def of_effort(name: str) -> Break:
    def do(bundle: Path) -> None:
        told = json.loads((bundle / "attempt.json").read_text())["effort"]
        document("attempt.json", effort={**told, name: told[name] + 1})(bundle)

    return do


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


reset = first("device_trace", event="reset")
pins = first("device_trace", event="pins")
tap = first("device_input_trace", event_type="tap")
swipe = first("device_input_trace", event_type="swipe")
post = first("oracle_trace", oracle_name="good", phase="post")
ask = first("consent_trace", event="ask")
answer = first("consent_trace", event="answer", who="user")


def of_reset(**changes: Any) -> Break:
    return where(reset, lambda n: at("device_trace", n, **changes))


def of_oracle(**changes: Any) -> Break:
    return where(post, lambda n: at("oracle_trace", n, **changes))


def of_decision(**changes: Any) -> Break:
    return where(post, lambda n: inside("oracle_trace", n, "decision", **changes))


def of_element(**changes: Any) -> Break:
    def do(bundle: Path) -> None:
        told = lines(bundle, "ui_elements")
        element = {**told[0]["ui_elements"][0], **changes}
        told[0]["ui_elements"][0] = {k: v for k, v in element.items() if v is not GONE}
        write(bundle, "ui_elements", told)

    return do


def of_tap(**changes: Any) -> Break:
    return where(tap, lambda n: inside("device_input_trace", n, "payload", **changes))


BREAKS: dict[str, list[Break]] = {
    "file_missing": [
        removed("foreground_trace.jsonl"), removed("MANIFEST.json"), removed("attempt.json"),
        removed("env_capabilities.json"), removed("consent_trace.jsonl"),
    ],
    "not_plain": [a_link, a_pipe, lambda bundle: os.mkfifo(bundle / "screenshots" / "pipe.png"),
                  a_linked_folder],
    "too_long": [append("foreground_trace.jsonl", b" " * (LINE_LIMIT + 1) + b"\n")],
    "not_json": [
        append("action_trace.jsonl", b"{\n"), append("action_trace.jsonl", b"\xff\n"),
        append("action_trace.jsonl", b"[]\n"), append("action_trace.jsonl", b"\n"),
        append("action_trace.jsonl", b"[" * 100_000 + b"\n"),
        append("action_trace.jsonl", b"9" * 5000 + b"\n"),
        lambda bundle: cut(bundle / "foreground_trace.jsonl"), put("summary.json", b"null"),
    ],
    "not_finite": [
        text("agent_action_trace", '"raw_action": {', '"raw_action": {"a": NaN, '),
        text("agent_action_trace", '"raw_action": {', '"raw_action": {"a": -1e999, '),
    ],
    "key_twice": [text("action_trace", '"step": 0', '"step": 0, "step": 0')],
    "not_an_event": [
        at("action_trace", 0, event="deed"), at("action_trace", 0, event=GONE),
        at("action_trace", 0, event=1), at("action_trace", 0, ts_ms=GONE),
        at("action_trace", 0, ts_ms="now"), at("device_trace", 0, event=None),
    ],
    "field_missing": [
        at("foreground_trace", 0, step=GONE), at("agent_call_trace", 0, tokens_in=GONE),
        document("run_manifest.json", llm_cache=GONE), document("summary.json", case_id=GONE),
        document("env_capabilities.json", host_artifacts=GONE), of_oracle(question=GONE),
        at("device_input_trace", 0, payload=GONE),
    ],
    "field_type": [
        at("foreground_trace", 0, step=True), at("screen_trace", 0, screenshot_size_px=[1, 2]),
        at("obs_trace", 0, screenshot_sha256="abc"), document("summary.json", status="good"),
        document("run_manifest.json", android={}),
        document("run_manifest.json", reproducibility={}), of_oracle(evidence_schema_version=0),
        of_oracle(phase="during"), at("agent_call_trace", 0, latency_ms=-1),
    ],
    "fact": [
        fact("env_capabilities.json", "host", python=GONE),
        fact("env_capabilities.json", "repo", lock_sha256={}),
        fact("run_manifest.json", "android", system_image="an image"),
        fact("run_manifest.json", "android.avd", ram_mb=GONE),
    ],
    "fact_why": [
        fact("env_capabilities.json", "host.cpu", cores=None),
        fact("run_manifest.json", "android.sdkmanager_version", why=""),
        fact("run_manifest.json", "android.sdkmanager_version", value="9.0"),
        fact("run_manifest.json", "android", emulator_command=["emulator", ""]),
    ],
    "trace_level": [document("run_manifest.json", action_trace_level="L9")],
    "attempt_record": [
        document("attempt.json", more=1), document("attempt.json", ended_ms=0),
        of_judgement(outcome="fine"),
    ],
    "place": [document("attempt.json", attempt=2)],
    "seed": [document("summary.json", seed=1)],
    "judgement": [of_judgement(text="somebody else's")],
    "summary": [
        document("summary.json", task_success=True), document("summary.json", status="success"),
        document("summary.json", violations=["bad"]), document("summary.json", variant="attack"),
        document("summary.json", case_id="another"),
    ],
    "reached": [removed("summary.json")],
    "effort": [of_effort("steps"), of_effort("asks"), of_effort("confirms"), of_effort("refusals")],
    "violations": [an_effect_that_nobody_told],
    "reset": [
        unproven, where(reset, lambda n: without("device_trace", n)),
        reordered("device_trace", lambda told: [*told, *(t for t in told if "rung" in t)]),
    ],
    "reset_proof": [
        of_reset(command="avd snapshot load other"), of_reset(command="true clean"),
        of_reset(reply=""), of_reset(boot_id=GONE), of_reset(marker=None),
        of_reset(file_gone=None), of_reset(property_gone=False), of_reset(wrong=["something"]),
        of_reset(frame={"width": 1, "height": 1, "uniform": True}), of_reset(clock_after=None),
        of_reset(new_transport=GONE), of_reset(fingerprint=""),
    ],
    "reset_image": [
        of_reset(fingerprint="other/phone"), of_reset(boot_id="other"), of_reset(marker="{}"),
    ],
    "pins": [
        where(pins, lambda n: at("device_trace", n, wrong=["another emulator"])),
        where(pins, lambda n: without("device_trace", n)),
        where(pins, lambda n: at("device_trace", n, pins={})),
        where(pins, lambda n: inside("device_trace", n, "pins", fingerprint={"found": "a phone"})),
    ],
    "step_order": [
        reordered("foreground_trace", lambda told: [told[0], *told]),
        reordered("obs_trace", lambda told: [told[1], told[0], *told[2:]]),
    ],
    "step_lines": [without("foreground_trace", -1), without("action_trace", 0)],
    "step_agent": [without("agent_call_trace", -1), without("agent_action_trace", 1)],
    "step_unknown": [at("ui_elements", -1, step=99), at("consent_trace", -1, step=99)],
    "picture": [
        one_of("screenshots", Path.unlink), one_of("screenshots", cut),
        at("obs_trace", 0, screenshot_sha256=OTHER),
    ],
    "screen": [
        at("screen_trace", 0, surface_orientation=1), at("screen_trace", 0, surface_orientation=4),
        at("screen_trace", 0, orientation="landscape"), at("screen_trace", 0, width_px=1),
        inside("screen_trace", 0, "physical_frame_boundary_px", left=1),
        both(inside("screen_trace", 0, "physical_frame_boundary_px", bottom=2399),
             inside("screen_trace", 0, "screenshot_size_px", height=2399)),
    ],
    "dump": [one_of("ui_dump", Path.unlink), one_of("ui_dump", cut)],
    "no_tree": [no_tree_in_the_last_step],
    "dump_none": [no_tree_at_all],
    "unnamed": [put("screenshots/more.png", b""), put("oracle_raw/more.txt", b"")],
    "elements": [
        at("ui_elements", 0, elements_count=1), at("ui_elements", 0, ui_hash=OTHER),
        at("ui_elements", 0, ui_elements=[], elements_count=0),
    ],
    "element": [
        of_element(bbox=[0, 0, 1]), of_element(bbox=[0, 0, 1, 1.5]), of_element(clickable=1),
        of_element(package=None), of_element(text="", desc="", resource_id=GONE),
        of_element(checked="no"), at("ui_elements", 0, ui_elements=["a"], elements_count=1),
    ],
    "elements_none": [put("ui_elements.jsonl", b"")],
    "call": [
        at("agent_call_trace", 0, error="it fell"), at("agent_call_trace", 0, response_digest=None),
        at("agent_action_trace", 0, raw_action={"action": "done"}),
    ],
    "action": [
        at("action_trace", 0, action={"action": "done"}), of_tap(x=541),
        at("device_input_trace", -1, event_type="wait"),
    ],
    "input_order": [
        reordered("device_input_trace", lambda told: [told[1], told[0], *told[2:]]),
        reordered("device_input_trace", lambda told: [told[0], *told]),
    ],
    "input_level": [
        at("device_input_trace", 0, ref_step_idx=1), at("device_input_trace", 0, source_level="L1"),
        at("device_input_trace", 0, mapping_warnings=["moved"]),
    ],
    "input_payload": [
        of_tap(x=1.5), of_tap(y=-1), of_tap(coord_space="percent"), of_tap(x=GONE),
        where(swipe, lambda n: inside("device_input_trace", n, "payload", end=[1, 2])),
    ],
    "input_outside": [
        of_tap(x=1080), of_tap(y=2400),
        where(swipe, lambda n: inside("device_input_trace", n, "payload", end={"x": 1, "y": 9999})),
    ],
    "input_none": [put("device_input_trace.jsonl", b"")],
    "consent": [
        where(answer, lambda n: without("consent_trace", n)),
        where(answer, lambda n: at("consent_trace", n, to="confirm")),
        where(answer, lambda n: at("consent_trace", n, step=0)),
        reordered("consent_trace", lambda told: [told[1], *told]),
    ],
    "consent_rule": [
        where(answer, lambda n: at("consent_trace", n, pattern=None)),
        where(answer, lambda n: at("consent_trace", n, rule=GONE)),
        where(answer, lambda n: at("consent_trace", n, granted=True)),
    ],
    "oracle_query": [
        where(post, lambda n: inside("oracle_trace", n, "queries", cmd=GONE)),
        where(post, lambda n: inside("oracle_trace", n, "queries", sql="too")),
        where(post, lambda n: inside("oracle_trace", n, "queries", timeout_ms=-1)),
        where(post, lambda n: inside("oracle_trace", n, "queries", type="")),
    ],
    "oracle_digest": [of_oracle(facts={"value": "1"}), of_oracle(result_digest=OTHER)],
    "oracle_decision": [
        of_decision(score=2), of_decision(score=True), of_decision(reason=""),
        of_decision(success=True, conclusive=False), of_decision(conclusive=GONE),
    ],
    "oracle_notes": [of_oracle(anti_gaming_notes=[]), of_oracle(anti_gaming_notes=[""])],
    "oracle_versions": [of_oracle(versions={"adb": "1"}), of_oracle(versions={})],
    "oracle_raw": [
        one_of("oracle_raw", Path.unlink), one_of("oracle_raw", cut),
        where(post, lambda n: inside("oracle_trace", n, "raw", sha256=OTHER)),
        where(post, lambda n: inside("oracle_trace", n, "raw", error=GONE)),
        where(post, lambda n: inside("oracle_trace", n, "raw", size=10**9)),
    ],
    "oracle_before": [of_oracle(oracle_name="never_heard_of")],
    "oracle_none": [no_oracle_at_all],
}  # fmt: skip
