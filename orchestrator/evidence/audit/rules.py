"""The rules that evidence is audited against, and the findings that name a broken rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..bundle import replace_surrogates

MAX_PER_RULE = 20  # findings of one rule in one file
_TEXT_LIMIT = 300

# Each rule has a short name, which never changes, and a sentence that says what holds.
RULES = {
    # any file
    "file_missing": "Every required file and folder exists.",
    "not_plain": "Evidence is plain files in plain folders: no links, no devices.",
    "too_long": "No file, line or number of lines exceeds what a worker can write.",
    "not_json": "A document is one JSON object; a trace is one JSON object per line.",
    "not_finite": "Numbers are finite: JSON has no NaN and no infinity.",
    "key_twice": "No object has the same key twice.",
    "not_an_event": "A trace's line has a `ts_ms` and an `event` that belongs to this trace.",
    "field_missing": "Every document and every event has all its fields.",
    "field_type": "Every field has its type and is within its range.",
    # the run
    "fact": "The run's two documents state every fact that the contract requires.",
    "fact_why": "An unknown fact is null with a reason beside it; nothing else is empty.",
    "trace_level": "`action_trace_level` is none, L0, L1 or L2.",
    # the attempt's record
    "place": "A bundle is in the folder of its attempt: episodes/<episode>/attempt-<n>.",
    "seed": "summary.json's seed is the one that the run's manifest names for the episode.",
    "attempt_record": "attempt.json is a valid attempt record.",
    "judgement": "attempt.json's judgement follows from the facts in it.",
    "summary": "summary.json states the same result as attempt.json.",
    "reached": "There is a summary.json if and only if the agent was shown a screen.",
    "effort": "attempt.json's counts are those of the traces.",
    "violations": "attempt.json's violations are the forbidden effects in oracle_trace.",
    # the reset
    "reset": "The last reset before the first step is proven, and there is none after it.",
    "reset_proof": "A proven reset has its command, its output and every part of its proof.",
    "reset_image": "A proven reset restored the image that the run names.",
    "pins": "Before the first step the device was compared with its pins and matches them.",
    # steps
    "step_order": "Steps count up from 0, one line each.",
    "step_lines": "Every trace of steps has one line for each observed step and no other.",
    "step_agent": "Every observed step has an agent_call and an agent_action.",
    "step_unknown": "A step that an event names was observed.",
    "picture": "A step's picture is in the bundle, matches its digest and is a PNG.",
    "screen": "Picture, frame, size and orientation of a screen agree.",
    "dump": "A step's ui_hash is the digest of a dump in ui_dump/.",
    "no_tree": "A step without a tree says why.",
    "dump_none": "The bundle has the tree of at least one screen.",
    "unnamed": "An event names every picture, dump and raw result in the bundle.",
    "elements": "ui_elements is a list, not empty, correctly counted, of the step's own tree.",
    "element": "An element has its box, flags, package, and a text, description or id.",
    "elements_none": "The bundle has the elements of at least one screen.",
    # the agent's actions
    "call": "A call has a response or an error; response_digest is that of the raw action.",
    "action": "The normalized action, the device input and the executed action are the same.",
    "input_order": "Lines of inputs have strictly increasing steps.",
    "input_level": "An input has the run's level; at L0 it refers to its own step, unmapped.",
    "input_payload": "A touch gives its position in whole physical pixels.",
    "input_outside": "A touch is inside its step's frame.",
    "input_none": "A bundle of level L0 to L2 has inputs.",
    "consent": "Every question of the agent is followed by the user's answer to it.",
    "consent_rule": "The user's answer names its rule, by number and pattern, or that it has none.",
    # oracles
    "oracle_query": "A query has a type, a time-out and one of cmd, sql, path, uri.",
    "oracle_digest": "result_digest is the digest of the facts.",
    "oracle_decision": "A decision is complete, and an inconclusive one is no success.",
    "oracle_notes": "An oracle says in words why it cannot be gamed.",
    "oracle_versions": "Every answer has the versions of adb and of the phone's build.",
    "oracle_raw": "Each query's raw result is in the bundle and matches its digest.",
    "oracle_before": "An oracle that is asked after the agent was also asked before it.",
    "oracle_none": "A bundle with a summary has at least one oracle event.",
}


@dataclass(frozen=True)
class Finding:
    file: str
    line: int  # from 1; 0: the file as a whole
    rule: str  # a name in RULES
    text: str  # one sentence

    def __str__(self) -> str:
        at = f"{self.file}:{self.line}" if self.line else self.file
        return f"{at}: {self.rule}: {self.text}"


class Findings:
    """Collects findings, at most MAX_PER_RULE of each rule in each file."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, line: int, rule: str, text: str) -> None:
        assert rule in RULES, rule
        self._counts[file, rule] += 1
        count = self._counts[file, rule]
        if count <= MAX_PER_RULE:
            self.found.append(Finding(printable(file), line, rule, printable(text)))
        elif count == MAX_PER_RULE + 1:
            self.found.append(Finding(printable(file), line, rule, "and more of this rule"))

    def below(self, folder: str) -> list[Finding]:
        """All findings, with the folder put before their file names."""
        return [replace(each, file=f"{folder}/{each.file}") for each in self.found]


def printable(text: str) -> str:
    """Shorten and escape a text: evidence may hold anything, also control codes of a terminal."""
    short = text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 3] + "..."
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in replace_surrogates(short))
