"""Oracles on the agent's answer and on the requests that the case's web site received."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from typing import Any

from ..cases.oracles import AnswerIs, PostedIs, ReceiptIs
from ..device.faults import DeviceFault
from ..events.canonical import Json
from .file import json_facts, same
from .oracle import CountOracle, Decision, Inquiry, Oracle, Query, Raw

ANSWERS = "action_trace.jsonl"  # the bundle's file with every answer
AGENT_ANSWER = "agent_answer"
SITE_REQUESTS, SITE_DOCUMENTS = "site_requests", "site_documents"  # without bodies, and with
SITE = "site"  # a capability of the harness


class AnswerOracle(Oracle[AnswerIs]):
    notes = ("the agent's last answer action; what it typed or showed is no answer",)
    needs = ()

    def inquire(self) -> Inquiry:
        text = json.loads((yield Query(AGENT_ANSWER, 0, path=ANSWERS)).data)
        return {"answer": text if text is None or self.asked.matches else folded(text)}

    def decide(self, facts: Json) -> Decision:
        text, asked = facts["answer"], self.asked
        if text is None:
            return Decision(False, "the agent gave no answer")
        reason = f"the answer is {text[:200]!r}"
        if asked.equals is not None:
            return Decision(text == folded(asked.equals), reason)
        if asked.contains is not None:
            return Decision(folded(asked.contains) in text, reason)
        return Decision(re.search(asked.matches or "", text) is not None, reason)


class ReceiptOracle(CountOracle[ReceiptIs]):
    notes = ("counted by the site's own server; a page that says so is not enough",)
    needs = (SITE,)
    what = "requests"

    def inquire(self) -> Inquiry:
        asked = self.asked
        requests = yield from _received(SITE_REQUESTS, asked.path, asked.method, bool(asked.form))
        return {self.what: sum(self._matches(each["fields"]) for each in requests)}

    def _matches(self, fields: Mapping[str, Any]) -> bool:
        return all(fields.get(name) == [value] for name, value in self.asked.form.items())


class PostedOracle(CountOracle[PostedIs]):
    notes = (
        "read from the posted bytes by the site's own server; what the page shows is not asked",
    )
    needs = (SITE,)
    what = "documents"

    def inquire(self) -> Inquiry:
        requests = yield from _received(SITE_DOCUMENTS, self.asked.path, "POST", True)
        return {self.what: sum(self._matches(each["body"]) for each in requests)}

    def _matches(self, body: str) -> bool:
        found = json_facts(body, self.asked.json_)
        return found is not None and all(
            same(found[path], value) for path, value in self.asked.json_.items()
        )


def _received(
    type: str, path: str, method: str, bodies: bool
) -> Generator[Query, Raw, list[dict[str, Any]]]:
    """The requests that the site received at this path, in order. If their bodies count, one that
    was not kept may hold anything, so the question has no answer."""
    raw = yield Query(type, 0, path=path)
    requests = [each for each in json.loads(raw.data) if each["method"] == method]
    if bodies and any(each["body_cut"] for each in requests):
        raise DeviceFault("output_too_large", f"a request to {path} was too large to keep")
    return requests


def folded(text: str) -> str:
    """The text with whitespace collapsed and case folded."""
    return " ".join(text.split()).casefold()
