"""The `random` agent: draws its actions from a seed, the same for the same screens."""

from __future__ import annotations

import random

from ..cases.script import DIRECTIONS
from .agent import AgentInfo, AgentReply, Observation

# Each kind of action, and how often out of a hundred.
_WEIGHTS = {"tap": 55, "long_press": 5, "swipe": 15, "key": 15, "type": 10}
_TEXTS = ("hello", "42", "Grüße", "a b", "日本", "x=1, y=2", 'it\'s "quoted"', "🙂")
# The argument of a kind that touches nothing, and its values.
_ARGUMENTS = {
    "swipe": ("direction", DIRECTIONS),
    "key": ("key", ("back", "back", "home", "enter", "delete")),
    "type": ("text", _TEXTS),
}


class RandomAgent:
    """It never says that it is done; its budget ends it."""

    def __init__(self, seed: int) -> None:
        self.info = AgentInfo("random", sampling={"seed": seed})
        self._seed = seed
        self._draw = random.Random(seed)

    def start(self, goal: str, seconds: float) -> None:
        self._draw = random.Random(self._seed)

    def act(self, observation: Observation, seconds: float) -> AgentReply:
        draw = self._draw
        kind = draw.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        if kind in _ARGUMENTS:
            name, values = _ARGUMENTS[kind]
            return AgentReply({"action": kind, name: draw.choice(values)})
        return AgentReply({"action": kind, **self._target(observation)})

    def close(self) -> None:
        """Nothing was started."""

    def _target(self, seen: Observation) -> dict[str, int]:
        """A clickable element, or any position where there is none."""
        choices = [
            index
            for index, element in enumerate(seen.elements or ())
            if element.clickable and seen.visible_part(element) is not None
        ]
        if choices:
            return {"element": self._draw.choice(choices)}
        return {"x": self._draw.randrange(seen.width), "y": self._draw.randrange(seen.height)}
