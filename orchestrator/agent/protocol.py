"""What do we and somebody else's agent say to each other? JSON, the same over pipes and over HTTP.

    -> {"type": "hello", "protocol": 1, "session": "9f2c...", "goal": ...}
    <- {"type": "ready", "name"?, "version"?, "model"?}
    -> {"type": "observation", "session": "9f2c...", ...}    `observation_json`, below
    <- {"action": "tap", "element": 3}                       what normalize.py reads, with "usage"?

A session is one attempt. Its word is drawn by chance and means nothing, so that an agent which
serves several phones at once can tell them apart, and learns nothing by it.

The agent is blind: nothing that it is sent names the case, the variant, the seed or a path.
"""

from __future__ import annotations

import base64
import json
import math
import secrets
from dataclasses import replace
from typing import Any

from ..device.uitree import Element
from ..outcome import Reason
from .agent import AgentFault, AgentInfo, AgentReply, Observation

PROTOCOL = 1
# Bytes. All of it is kept as evidence: an agent must not come to fill the disk, or a bundle, by it.
MOST_REPLY = 1_000_000
MOST_QUOTED = 200
MOST_NAME = 200


def new_session() -> str:
    return secrets.token_hex(8)


def hello(session: str, goal: str) -> bytes:
    return _spelled({"type": "hello", "protocol": PROTOCOL, "session": session, "goal": goal})


def observation(session: str, seen: Observation) -> bytes:
    return _spelled({"type": "observation", "session": session, **observation_json(seen)})


def observation_json(observation: Observation) -> dict[str, Any]:
    """`elements` is null where the phone gave no tree; its order is what an action counts by."""
    elements = observation.elements
    return {
        "step": observation.step,
        "goal": observation.goal,
        "screen": {"width": observation.width, "height": observation.height},
        "screenshot": base64.b64encode(observation.screenshot).decode("ascii"),
        "elements": None
        if elements is None
        else [_element(index, element) for index, element in enumerate(elements)],
        "message": observation.message,
    }


def introduced(info: AgentInfo, ready: Any) -> AgentInfo:
    """With what the agent says of itself in answer to `hello`; AgentFault where it is not ready."""
    if not isinstance(ready, dict) or ready.get("type") != "ready":
        text = f'to "hello" it answered {_quoted(json.dumps(ready))}, not {{"type": "ready"}}'
        raise AgentFault(Reason.AGENT_NOT_STARTED, text)
    return replace(
        info,
        name=_word(ready.get("name")) or info.name,
        version=_word(ready.get("version")) or "",
        model_id=_word(ready.get("model")),
    )


def reply(raw: Any) -> AgentReply:
    """What it said, and what it says that it cost."""
    usage = raw.pop("usage", None) if isinstance(raw, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    return AgentReply(raw, _count(usage.get("tokens_in")), _count(usage.get("tokens_out")))


def understood(answer: bytes) -> Any:
    """JSON, and only JSON; AgentFault where it is something else."""
    try:
        return parsed(answer)
    except (ValueError, RecursionError):
        said = _quoted(answer.decode("utf-8", "replace").strip())
        raise AgentFault(Reason.AGENT_INVALID, f"not JSON: {said}") from None


def parsed(answer: bytes) -> Any:
    """NaN and infinities, which Python would take, are a ValueError."""
    return json.loads(answer.decode("utf-8"), parse_constant=_no_number, parse_float=_finite)


def too_long() -> AgentFault:
    return AgentFault(Reason.AGENT_INVALID, f"a reply of more than {MOST_REPLY} bytes")


def _spelled(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _finite(word: str) -> float:
    number = float(word)
    return number if math.isfinite(number) else _no_number(word)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}...")


def _word(value: Any) -> str | None:
    return value[:MOST_NAME] if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 40 else None


def _element(index: int, element: Element) -> dict[str, Any]:
    bounds = element.bounds
    return {
        "index": index,
        "text": element.text,
        "description": element.description,
        "resource_id": element.resource_id,
        "class": element.class_name,
        "package": element.package,
        "bounds": [bounds.left, bounds.top, bounds.right, bounds.bottom],
        "clickable": element.clickable,
        "long_clickable": element.long_clickable,
        "scrollable": element.scrollable,
        "checkable": element.checkable,
        "checked": element.checked,
        "enabled": element.enabled,
        "focused": element.focused,
        "selected": element.selected,
        "password": element.password,
    }
