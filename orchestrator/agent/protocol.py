"""The agent protocol: JSON messages to and from external agents, over pipes or HTTP.

    -> {"type": "hello", "protocol": 1, "session": "9f2c...", "goal": ...}
    <- {"type": "ready", "name"?, "version"?, "model"?}
    -> {"type": "observation", "session": "9f2c...", ...}    `observation_json`, below
    <- {"action": "tap", "element": 3}                       what normalize.py reads, with "usage"?

A session is one attempt. Its id is random, so that an agent that serves several phones at once can
tell them apart and learns nothing else.

The agent is blind: no message names the case, the variant, the seed or a path.
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
# In bytes. Replies are kept as evidence, and an agent must not fill the disk or a bundle.
MAX_REPLY = 1_000_000
MAX_QUOTED = 200
MAX_NAME = 200


def new_session() -> str:
    return secrets.token_hex(8)


def hello(session: str, goal: str) -> bytes:
    return _encode({"type": "hello", "protocol": PROTOCOL, "session": session, "goal": goal})


def observation(session: str, seen: Observation) -> bytes:
    return _encode({"type": "observation", "session": session, **observation_json(seen)})


def observation_json(observation: Observation) -> dict[str, Any]:
    """An observation as the agent gets it; an action names an element by its index."""
    elements = None  # the phone gave no tree
    if observation.elements is not None:
        elements = [_element(*each) for each in enumerate(observation.elements)]
    return {
        "step": observation.step,
        "goal": observation.goal,
        "screen": {"width": observation.width, "height": observation.height},
        "screenshot": base64.b64encode(observation.screenshot).decode("ascii"),
        "elements": elements,
        "message": observation.message,
    }


def with_introduction(info: AgentInfo, ready: Any) -> AgentInfo:
    """Adds what the agent says about itself in its answer to `hello`. Raises AgentFault."""
    if not isinstance(ready, dict) or ready.get("type") != "ready":
        text = f'to "hello" it answered {_quoted(json.dumps(ready))}, not {{"type": "ready"}}'
        raise AgentFault(Reason.AGENT_NOT_STARTED, text)
    return replace(
        info,
        name=_text(ready.get("name")) or info.name,
        version=_text(ready.get("version")) or "",
        model_id=_text(ready.get("model")),
    )


def reply(raw: Any) -> AgentReply:
    """The reply, and the tokens that the agent says it used."""
    usage = raw.pop("usage", None) if isinstance(raw, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    return AgentReply(raw, _count(usage.get("tokens_in")), _count(usage.get("tokens_out")))


def parse_reply(answer: bytes) -> Any:
    """Raises AgentFault where the answer is not JSON."""
    try:
        # Python would accept NaN and infinities.
        text = answer.decode("utf-8")
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        text = _quoted(answer.decode("utf-8", "replace").strip())
        raise AgentFault(Reason.AGENT_INVALID, f"not JSON: {text}") from None


def too_long() -> AgentFault:
    return AgentFault(Reason.AGENT_INVALID, f"its reply has more than {MAX_REPLY} bytes")


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not JSON")
    return number


def _quoted(text: str) -> str:
    return repr(text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}...")


def _text(value: Any) -> str | None:
    return value[:MAX_NAME] if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 40 else None


def _element(index: int, element: Element) -> dict[str, Any]:
    """Every field but the depth; the class and the bounds in the agent's spelling."""
    bounds = list(vars(element.bounds).values())
    shown = {"index": index, **vars(element), "class": element.class_name, "bounds": bounds}
    del shown["depth"], shown["class_name"]
    return shown
