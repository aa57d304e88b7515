"""The colours of reasons and causes: one name has one colour, and none looks like success."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.metrics import families
from orchestrator.metrics.families import Family

Colours = Mapping[str, Sequence[str]]  # the names of each colour


def coloured(colours: Sequence[str], *closed_lists: Family) -> Colours:
    """The last label's values, those of the first list before the others'; the colours go round."""
    names = list(dict.fromkeys(each[-1] for family in closed_lists for each in family.series))
    return {colour: names[at :: len(colours)] for at, colour in enumerate(colours)}


# Without green; of what an agent does without red too.
INFRA = coloured(
    (
        "dark-red", "#ff9830", "#8ab8ff", "#b877d9", "#fade2a", "#f2a7a7", "#6ed0e0", "#c15c17",
        "#e0b4f0", "#3f6fd1", "#8f9aa6", "#967302", "#ff7383",
    ),
    families.INFRA_FAILURES, families.DEVICES_LOST, families.DEVICE_START_FAILURES,
)  # fmt: skip
AGENT = coloured(
    ("#ff9830", "#fade2a", "#8ab8ff", "#c15c17", "#e0b4f0", "#6ed0e0", "#967302", "#b877d9"),
    families.AGENT_FAILURES, families.INCONCLUSIVE,
)  # fmt: skip
