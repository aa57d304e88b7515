"""Combines the oracle events of an attempt into one result; attempt and verifier share the rule.

Before the agent starts, every forbidden effect is checked, then every success. After each step the
watched effects are checked, and an event is written if one was seen or could not be checked. At the
end every success is checked, and every forbidden effect that was neither present before nor seen
since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..outcome import OracleResults
from .composite import conjunction
from .trace import holds_of


def combine(events: Sequence[Mapping[str, Any]]) -> OracleResults:
    """Computes the result from the oracle events in their order, wherever the attempt ended.

    - success: the conjunction of the final verdicts; None if one is missing, as in an attempt that
      did not finish or on a guest that was restarted.
    - held_before: the whole conjunction held before the agent started. A part of it may.
    - violations: the forbidden effects that were seen and not present before, in that order.
    - violations_known: every forbidden effect was checked before and at the end, and each that once
      could not be checked was seen at another time. In a case that forbids nothing they are known
      after the first check: forbidden effects are checked first, so a success that was checked
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
    final = [holds_of(last[name]) if name in last else None for name in wanted]
    finished = all(name in last for name in wanted) and all(
        name in already or any(e["oracle_name"] == name for e in effects) for name in forbidden
    )
    return OracleResults(
        success=conjunction(final) if wanted else None,
        held_before=bool(wanted) and all(holds_of(before[name]) for name in wanted),
        violations=tuple(seen),
        violations_known=bool(wanted) and (not forbidden or (finished and missed <= seen.keys())),
        text="; ".join(
            f"{name}: {last[name]['decision']['reason']}"
            for name in wanted
            if name in last and not holds_of(last[name])
        ),
    )
