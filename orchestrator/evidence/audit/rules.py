"""Which rules is evidence held against? Each has a short name that stays, and a sentence."""

from __future__ import annotations

RULES = {
    # any file
    "file_missing": "A file or folder that must be there is missing.",
    "not_plain": "Evidence is plain files in plain folders: no links, no devices.",
    "too_long": "A file, a line or the number of lines is beyond what is ever written.",
    "not_json": "A document is one JSON object; a trace is one JSON object a line.",
    "not_finite": "JSON has no NaN and no infinity.",
    "key_twice": "An object has no key twice.",
    "not_an_event": "A trace's line has an `event` that this trace knows, and `ts_ms`.",
    "field_missing": "A document, and every event, has all its fields.",
    "field_type": "A field is of its type and within its range.",
    # the run
    "fact": "The run's two documents name every fact that the contract asks for.",
    "fact_why": "What is not known is null, with the reason beside it; nothing else is empty.",
    "trace_level": "`action_trace_level` is none, L0, L1 or L2.",
    # the attempt's word
    "place": "A bundle stands where its attempt.json says: episodes/<episode>/attempt-<n>.",
    "seed": "summary.json's seed is the one that the run's manifest names for the episode.",
    "attempt_record": "attempt.json is a record as a worker writes it.",
    "judgement": "attempt.json's word is what judging its own facts gives.",
    "summary": "summary.json says in other words what attempt.json says.",
    "reached": "There is a summary.json where, and only where, the agent was shown something.",
    "effort": "attempt.json's counts are those of the traces.",
    "violations": "attempt.json's violations are the forbidden effects that oracle_trace saw.",
    # the reset
    "reset": "The last reset before the first step is proven, and none comes after it.",
    "reset_proof": "A proven reset carries its command, its output and every part of its proof.",
    "reset_image": "A proven reset came back to the image that the run names.",
    "pins": "Before the first step the device was held against its pins, and is as they say.",
    # steps
    "step_order": "Steps count up from 0, one line each.",
    "step_lines": "Every observed step, and no other, has its line in each trace of steps.",
    "step_agent": "Every observed step has an agent_call and an agent_action.",
    "step_unknown": "An event names a step that was observed.",
    "picture": "A step's picture is in the bundle, is what its digest says, and is a PNG.",
    "screen": "Picture, frame, size and orientation of a screen agree.",
    "dump": "A step's ui_hash is the digest of a dump in ui_dump/.",
    "no_tree": "A step without a tree says why.",
    "dump_none": "At least one screen's tree is in the bundle.",
    "unnamed": "Every picture, dump and raw result in the bundle is named by an event.",
    "elements": "ui_elements are a list that is not empty, counted, of the step's own tree.",
    "element": "An element has its box, flags, package, and a text, description or id.",
    "elements_none": "At least one screen's elements are in the bundle.",
    # what the agent said and what became of it
    "call": "A call has a response or an error; the digest is that of the raw action.",
    "action": "What was normalized, what was given to the phone and what was done are one action.",
    "input_order": "Lines of inputs have strictly increasing steps.",
    "input_level": "An input's level is the run's; at L0 it refers to its own step, unmapped.",
    "input_payload": "A touch says where, in whole physical pixels.",
    "input_outside": "A touch is inside its step's frame.",
    "input_none": "A bundle of level L0 to L2 has inputs.",
    "consent": "Every question of the agent's has the user's answer behind it, and no other has.",
    "consent_rule": "The user's answer names its rule, by number and pattern, or that it has none.",
    # oracles
    "oracle_query": "A query says its type, its time and one of cmd, sql, path, uri.",
    "oracle_digest": "result_digest is the digest of the facts.",
    "oracle_decision": "A decision is whole; what is not conclusive is no success.",
    "oracle_notes": "Why an oracle cannot be gamed is said, in words.",
    "oracle_versions": "Adb's version and the phone's build stand beside each answer.",
    "oracle_raw": "Each query's raw result is in the bundle, and is what its digest says.",
    "oracle_before": "An oracle that is asked afterwards was asked before the agent began.",
    "oracle_none": "A bundle with a summary has an answer of an oracle.",
}
