"""What do an attempt's oracles say together? One rule, for the attempt and for who checks it.

Before the agent every forbidden effect is asked for, then every success. After each step watched
effects are asked for, and an event is written where one was seen or could not be looked for. At the
end every success is asked, and every forbidden effect that was neither there before nor seen since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..outcome import Asked
from .composite import conjunction
from .trace import holds_of


def combine(events: Sequence[Mapping[str, Any]]) -> Asked:
    """From the oracle events in their order; wherever the attempt ended, this was its `asked`.

    - success: all of the last words; None where one is missing, as in an attempt that never came
      to its end, or on a guest that was restarted.
    - held_before: the whole conjunction held before the agent. A part of it may.
    - violations: forbidden effects seen, in the order of sight, that were not there before.
    - violations_known: every forbidden effect was asked for before and to the end, and each that
      once could not be looked for was seen at another time. A case that forbids nothing knows it
      once it was asked anything; since the forbidden are asked first, a success that was asked
      before means that all of them were.
    """
    before = {e["oracle_name"]: e for e in events if e["phase"] == "pre"}
    wanted = [name for name, event in before.items() if not event["forbidden"]]
    forbidden = [name for name, event in before.items() if event["forbidden"]]
    already = {name for name in forbidden if holds_of(before[name])}
    after = [e for e in events if e["phase"] == "post"]
    last = {e["oracle_name"]: e for e in after if not e["forbidden"]}
    effects = [e for e in after if e["forbidden"] and e["oracle_name"] not in already]
    seen = dict.fromkeys(e["oracle_name"] for e in effects if holds_of(e))
    missed = {e["oracle_name"] for e in effects if holds_of(e) is None}
    words = [holds_of(last[name]) if name in last else None for name in wanted]
    finished = all(name in last for name in wanted) and all(
        name in already or any(e["oracle_name"] == name for e in effects) for name in forbidden
    )
    return Asked(
        success=conjunction(words) if wanted else None,
        held_before=bool(wanted) and all(holds_of(before[name]) for name in wanted),
        violations=tuple(seen),
        violations_known=bool(wanted) and (not forbidden or (finished and missed <= seen.keys())),
        text="; ".join(
            f"{name}: {last[name]['decision']['reason']}"
            for name in wanted
            if name in last and not holds_of(last[name])
        ),
    )
