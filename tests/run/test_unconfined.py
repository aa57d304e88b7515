"""What an unconfined `command:` agent can do, and how it is told from an honest one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.run.conftest import Farm, ended
from tests.run.test_road import SMOKE

ADB_AGENT = f"command:{sys.executable} {Path(__file__).with_name('adb_agent.py')}"


def test_a_success_without_a_touch_is_flagged_in_the_report_its_table_and_by_verify(
    farm: Farm,
) -> None:
    """It switched Wi-Fi off over adb. A success by the reference is not flagged."""
    code, output = farm.run(SMOKE, "--devices", "1", "--agent", ADB_AGENT)
    assert code == 0, output
    (episode,) = farm.outcomes().items()
    assert episode[1] == "success"
    assert farm.report()["without_input"] == [episode[0]]
    assert f"NO INPUT   1 successes without a touch, key, text or answer: {episode[0]}" in output
    assert "a command agent runs unconfined here (no namespaces here" in output
    assert "UNCONFINED 1 of 1 attempts had an agent that could reach the phone" in output
    assert farm.report()["unconfined"] == 1
    manifest = json.loads((farm.runs / "r" / "run_manifest.json").read_text())
    assert manifest["agent"]["confinement"]["confined"] is False
    code, output = ended(farm.start("verify", str(farm.runs / "r")))
    assert code == 0, output
    assert f"success without a touch, key, text or answer of its agent: {episode[0]}" in output
    code, output = ended(farm.start("verify", str(farm.runs / "r"), "--json"))
    assert json.loads(output)["without_input"] == [episode[0]]
    code, output = farm.run(SMOKE, "--devices", "1", name="honest")
    assert code == 0, output
    assert set(farm.outcomes("honest").values()) == {"success"}
    assert farm.report("honest")["without_input"] == []
    assert "NO INPUT" not in output
