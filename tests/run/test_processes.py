"""What the processes of a run are given, and what they leave where one is killed."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.fleet.local.environment import OF_DEVICES, OF_WORKERS
from tests.run.conftest import Farm, ended
from tests.run.processes import descendants
from tests.run.test_road import SMOKE, Write, wait_for

# What a supervisor sets for the programs that it starts, and what Python sets for itself.
ADDED = {
    "ANDROID_AVD_HOME", "ANDROID_EMULATOR_HOME", "ANDROID_ADB_SERVER_PORT", "ANDROID_SDK_ROOT",
    "ADB_LOCAL_TRANSPORT_MAX_PORT", "ADB_USB", "ADB_MDNS", "ADB_REJECT_KILL_SERVER", "LC_CTYPE",
}  # fmt: skip


def test_what_a_users_shell_has_reaches_no_process_of_a_run(farm: Farm, agent: Write) -> None:
    """Neither a supervisor, nor its emulator and adb, nor a worker, nor an agent."""
    farm = replace(farm, env={**farm.env, "OPENAI_API_KEY": "sk-planted", "PLANTED": "planted"})
    acting = farm.runs.parent / "acting"
    body = f"open({str(acting)!r}, 'w').close()\ntime.sleep(600)"
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "1", "--agent", agent(body))
    process = farm.start("run", SMOKE, *words)
    try:
        wait_for(acting.exists, process)
        found = [(" ".join(each.words), each.environ) for each in descendants(process.pid)]
    finally:
        process.kill()
        process.communicate()
    kinds = ("orchestrator.supervisor", "simphone", "adb", "orchestrator.cli worker", "agent.py")
    assert [kind for kind in kinds if not any(kind in words for words, _ in found)] == []
    assert [words for words, environ in found if "planted" in str(environ)] == []
    allowed = {*OF_DEVICES, *OF_WORKERS, *ADDED}
    given = [each.partition("=")[0] for _, environ in found for each in environ if each]
    assert set(given) <= allowed


def test_the_folder_of_an_agent_goes_where_its_worker_is_killed(
    farm: Farm, agent: Write, tmp_path: Path
) -> None:
    """It is gone before the next agent of that phone starts."""
    homes = tmp_path / "homes"
    body = (
        f"earlier = open({str(homes)!r}).read().split() if os.path.exists({str(homes)!r}) else []\n"
        "left = [home for home in earlier if os.path.exists(home)]\n"
        f"print(os.environ['HOME'], *left, file=open({str(homes)!r}, 'a'), flush=True)\n"
        "if not earlier: time.sleep(600)\n"
        "action = {'action': 'done'}"
    )
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "1", "--agent", agent(body))
    process = farm.start("run", SMOKE, "--repeats", "2", *words)
    wait_for(lambda: homes.exists() and homes.read_text().endswith("\n"), process)
    (worker,) = (
        each.pid
        for each in descendants(process.pid)
        if "orchestrator.cli worker" in " ".join(each.words)
    )
    os.kill(worker, signal.SIGKILL)
    code, output = ended(process)
    assert code == 0, output
    first, second = homes.read_text().splitlines()
    assert Path(first).name.startswith("agent-")
    assert second.split() == [second], "the first agent's folder was still there"
    assert list(Path(farm.env["TMPDIR"]).rglob("agent-*")) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_folder_of_an_agent_goes_where_its_run_is_killed(
    farm: Farm, agent: Write, tmp_path: Path, how: signal.Signals
) -> None:
    """With Ctrl-C at once; after SIGKILL, which nobody survives, with the next run."""
    acting = tmp_path / "acting"
    body = f"open({str(acting)!r}, 'w').close()\ntime.sleep(600)"
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "1", "--agent", agent(body))
    process = farm.start("run", SMOKE, *words)
    wait_for(acting.exists, process)
    process.send_signal(how)
    process.communicate()
    if how is signal.SIGKILL:
        code, output = farm.run(SMOKE, "--devices", "1", name="next")
        assert code == 0, output
    assert list(Path(farm.env["TMPDIR"]).rglob("agent-*")) == []
