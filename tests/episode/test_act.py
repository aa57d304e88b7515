"""What the trace says of an agent's action."""

from __future__ import annotations

from orchestrator.episode.act import NOTHING, input_line


def test_a_step_without_an_action_has_a_line_without_an_input() -> None:
    line = input_line(NOTHING, 3, 17)
    assert (line["step_idx"], line["event_type"], line["payload"]) == (3, "none", {})
