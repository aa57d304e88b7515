"""The `random` agent: draws its actions from a seed, the same for the same screens."""

from __future__ import annotations

import random
from typing import Any

from ..cases.script import DIRECTIONS
from .agent import AgentInfo, AgentReply, Observation
from .geometry import visible_part

# Each kind of action, and how often out of a hundred.
_WEIGHTS = {"tap": 55, "long_press": 5, "swipe": 15, "key": 15, "type": 10}
_KEYS = ("back", "back", "home", "enter", "delete")
_TEXTS = ("hello", "42", "Grüße", "a b", "日本", "x=1, y=2", 'it\'s "quoted"', "🙂")


class RandomAgent:
    """It never says that it is done; its budget ends it."""

    def __init__(self, seed: int) -> None:
        self.info = AgentInfo("random", sampling={"seed": seed})
        self._seed = seed
        self._draw = random.Random(seed)

    def start(self, goal: str, seconds: float) -> None:
        self._draw = random.Random(self._seed)

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        kind = self._draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        return AgentReply(getattr(self, f"_{kind}")(observation))

    def close(self) -> None:
        """Nothing was started."""

    def _tap(self, seen: Observation, kind: str = "tap") -> dict[str, Any]:
        """Taps a clickable element, or any position where there is none."""
        choices = [
            index
            for index, element in enumerate(seen.elements or ())
            if element.clickable and visible_part(element, seen.width, seen.height) is not None
        ]
        if choices:
            return {"action": kind, "element": self._draw.choice(choices)}
        x, y = self._draw.randrange(seen.width), self._draw.randrange(seen.height)
        return {"action": kind, "x": x, "y": y}

    def _long_press(self, seen: Observation) -> dict[str, Any]:
        return self._tap(seen, "long_press")

    def _swipe(self, seen: Observation) -> dict[str, Any]:
        return {"action": "swipe", "direction": self._draw.choice(DIRECTIONS)}

    def _key(self, seen: Observation) -> dict[str, Any]:
        return {"action": "key", "key": self._draw.choice(_KEYS)}

    def _type(self, seen: Observation) -> dict[str, Any]:
        return {"action": "type", "text": self._draw.choice(_TEXTS)}
