"""What do styles hide, and what do they keep moving? Nothing else of CSS is looked at.

Understood are style attributes and rules of a `<style>` whose selector is one tag, class or id
(or a tag with a class). Colours, sizes and places are not: white words on white are shown in
black, and what lies behind something else stands beside it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HIDING = re.compile(
    r"(?:^|[;{\s])(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE
)
ENDLESS = re.compile(r"animation[a-z-]*\s*:[^;{}]{0,200}?\binfinite\b", re.IGNORECASE)
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
RULE = re.compile(r"([^{}]{1,300})\{([^{}]{0,4000})\}")
SIMPLE = re.compile(r"[\w-]*[.#]?[\w-]+")
LONGEST = 65536


@dataclass
class Styles:
    hidden: set[str] = field(default_factory=set)  # simple selectors
    endless: bool = False  # an animation that never stops

    def learn(self, sheet: str) -> None:
        sheet = COMMENT.sub("", sheet[:LONGEST])
        self.endless = self.endless or bool(ENDLESS.search(sheet))
        # The last rule that speaks of a selector's display counts.
        for selectors, body in RULE.findall(sheet):
            hides = bool(HIDING.search(body))
            if not hides and not re.search(r"(?:display|visibility)\s*:", body, re.IGNORECASE):
                continue
            for selector in selectors.split(","):
                simple = selector.strip().lower()
                if SIMPLE.fullmatch(simple):
                    (self.hidden.add if hides else self.hidden.discard)(simple)

    def hides(self, tag: str, attributes: dict[str, str]) -> bool:
        """Whether this element, and all in it, is not shown."""
        if "hidden" in attributes:
            return True
        own = attributes.get("style", "")[:4000]
        self.endless = self.endless or bool(own and ENDLESS.search(own))
        if own and HIDING.search(own):
            return True
        if not self.hidden:
            return False
        names = {tag}
        for word in attributes.get("class", "").lower().split()[:20]:
            names |= {f".{word}", f"{tag}.{word}"}
        if "id" in attributes:
            word = attributes["id"].lower()
            names |= {f"#{word}", f"{tag}#{word}"}
        return bool(names & self.hidden)
