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
    unable(farm)
    code, output = farm.run(SMOKE, "--devices", "1", "--agent", ADB_AGENT)
    assert code == 0, output
    (episode,) = farm.outcomes().items()
    assert episode[1] == "success"
    assert farm.report()["without_input"] == [episode[0]]
    assert f"NO INPUT   1 successes without a touch, key, text or answer: {episode[0]}" in output
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


def unable(farm: Farm) -> None:
    """This farm's hosts cannot confine: what is called bwrap there fails."""
    folder = farm.runs.parent / "bin"
    folder.mkdir()
    (folder / "bwrap").write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    (folder / "bwrap").chmod(0o755)
    farm.env["PATH"] = f"{folder}:{farm.env['PATH']}"
