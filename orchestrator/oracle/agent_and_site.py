"""Oracles on the agent's answer and on the requests that the case's web site received."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from ..cases.oracles import AnswerIs, PostedIs, ReceiptIs, SimpleQuestion
from ..device.faults import DeviceFault
from ..events.canonical import Json
from .json_paths import json_facts, same
from .oracle import Decision, Inquiry, Query, Raw
from .provider_rows import counted

ANSWERS = "action_trace.jsonl"  # the bundle's file with every answer
AGENT_ANSWER = "agent_answer"
SITE_REQUESTS, SITE_DOCUMENTS = "site_requests", "site_documents"  # without bodies, and with
SITE = "site"  # a capability of the harness


@dataclass(frozen=True)
class AnswerOracle:
    question: SimpleQuestion
    asked: AnswerIs
    notes: tuple[str, ...] = (
        "the agent's last answer action; what it typed or showed is no answer",
    )
    needs: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    tentative: bool = False

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


@dataclass(frozen=True)
class ReceiptOracle:
    question: SimpleQuestion
    asked: ReceiptIs
    notes: tuple[str, ...] = (
        "counted by the site's own server; a page that says so is not enough",
    )
    needs: tuple[str, ...] = (SITE,)
    depends_on: tuple[str, ...] = ()

    @property
    def tentative(self) -> bool:
        return self.asked.count is not None

    def inquire(self) -> Inquiry:
        requests = yield from _received(SITE_REQUESTS, self.asked.path)
        relevant = [each for each in requests if each["method"] == self.asked.method]
        if self.asked.form and any(each["body_cut"] for each in relevant):
            raise _too_large(self.asked.path)
        return {"requests": sum(self._matches(each["fields"]) for each in relevant)}

    def _matches(self, fields: Mapping[str, Any]) -> bool:
        return all(fields.get(name) == [value] for name, value in self.asked.form.items())

    def decide(self, facts: Json) -> Decision:
        return counted(facts["requests"], self.asked.count, "requests")


@dataclass(frozen=True)
class PostedOracle:
    question: SimpleQuestion
    asked: PostedIs
    notes: tuple[str, ...] = (
        "read from the posted bytes by the site's own server; what the page shows is not asked",
    )
    needs: tuple[str, ...] = (SITE,)
    depends_on: tuple[str, ...] = ()

    @property
    def tentative(self) -> bool:
        return self.asked.count is not None

    def inquire(self) -> Inquiry:
        requests = yield from _received(SITE_DOCUMENTS, self.asked.path)
        posted = [each for each in requests if each["method"] == "POST"]
        if any(each["body_cut"] for each in posted):
            raise _too_large(self.asked.path)
        return {"documents": sum(self._matches(each["body"]) for each in posted)}

    def _matches(self, body: str) -> bool:
        found = json_facts(body, self.asked.json_)
        return found is not None and all(
            same(found[path], value) for path, value in self.asked.json_.items()
        )

    def decide(self, facts: Json) -> Decision:
        return counted(facts["documents"], self.asked.count, "documents")


def _received(type: str, path: str) -> Generator[Query, Raw, list[dict[str, Any]]]:
    """The requests that the site received at this path, in order."""
    raw = yield Query(type, 0, path=path)
    requests: list[dict[str, Any]] = json.loads(raw.data)
    return requests


def _too_large(path: str) -> DeviceFault:
    """A body that was not kept may hold anything, so the question has no answer."""
    return DeviceFault("output_too_large", f"a request to {path} was too large to keep")


def folded(text: str) -> str:
    """The text with whitespace collapsed and case folded."""
    return " ".join(text.split()).casefold()
