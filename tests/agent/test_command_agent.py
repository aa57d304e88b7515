"""A program that speaks JSON lines is an agent; anything else that it does is its own fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from orchestrator.agent.agent import AgentFault
from orchestrator.agent.command_agent import CommandAgent
from orchestrator.agent.normalize import normalize
from orchestrator.outcome import Reason
from tests.agent.screens import element, seen

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60.0
READY = 'input(); print(\'{"type": "ready"}\', flush=True)\n'
Start = Callable[..., CommandAgent]


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[Start]:
    """Starts an agent whose program is this Python code."""
    started: list[CommandAgent] = []

    def start(code: str, *, ready: bool = True) -> CommandAgent:
        program = tmp_path / f"agent{len(started)}.py"
        program.write_text((READY if ready else "") + dedent(code))
        agent = CommandAgent((sys.executable, str(program)))
        started.append(agent)
        agent.start("the goal", PATIENCE_S)
        return agent

    yield start
    for agent in started:
        agent.close()


def fault(call: Callable[[], object]) -> AgentFault:
    with pytest.raises(AgentFault) as error:
        call()
    return error.value


def gone(pid: int) -> bool:
    """Within a bound; a zombie that nobody has reaped yet is gone as well."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
    return False


def test_a_program_says_who_it_is_and_answers_each_observation(agents: Start) -> None:
    agent = agents(
        """
        import json, sys
        hello = json.loads(input())
        assert (hello["type"], hello["goal"], hello["protocol"]) == ("hello", "the goal", 1)
        about = {"name": "mine", "version": "2", "model": "m"}
        print(json.dumps({"type": "ready", **about}), flush=True)
        for line in sys.stdin:
            seen = json.loads(line)
            action = {"action": "tap", "element": seen["step"]}
            usage = {"tokens_in": 5, "tokens_out": 7}
            print(json.dumps({**action, "usage": usage}), flush=True)
        """,
        ready=False,
    )
    assert (agent.info.name, agent.info.version, agent.info.model_id) == ("mine", "2", "m")
    for step in (0, 1):
        reply = agent.act(seen(step=step), PATIENCE_S)
        assert reply.raw == {"action": "tap", "element": step}
        assert (reply.tokens_in, reply.tokens_out) == (5, 7)


def test_a_large_observation_goes_through(agents: Start) -> None:
    agent = agents("print('{\"n\": %d}' % len(input()), flush=True)")
    screen = seen(*[element("x" * 1000)] * 2000)
    assert agent.act(screen, PATIENCE_S).raw["n"] > 2_000_000


def test_a_program_that_is_not_there_did_not_start(tmp_path: Path) -> None:
    agent = CommandAgent((str(tmp_path / "none"),))
    error = fault(lambda: agent.start("goal", PATIENCE_S))
    agent.close()
    assert error.reason is Reason.AGENT_NOT_STARTED
    assert "No such file" in str(error)


@pytest.mark.parametrize(
    "code", ["1/0", "print('hi')", "print('[]')", "import time; time.sleep(60)"]
)
def test_a_program_that_is_never_ready_did_not_start(agents: Start, code: str) -> None:
    agent = CommandAgent((sys.executable, "-c", code))
    error = fault(lambda: agent.start("goal", 1.0))
    agent.close()
    assert error.reason is Reason.AGENT_NOT_STARTED


def test_a_crash_is_told_with_its_code_and_its_last_words(agents: Start) -> None:
    agent = agents("input(); import sys; print('no tokens left', file=sys.stderr); sys.exit(3)")
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert error.reason is Reason.AGENT_CRASHED
    assert "exit code 3" in str(error)
    assert "no tokens left" in str(error)


def test_a_signal_is_told_as_a_shell_would(agents: Start) -> None:
    agent = agents("input(); import os; os.kill(os.getpid(), 9)")
    assert "exit code 137" in str(fault(lambda: agent.act(seen(), PATIENCE_S)))


@pytest.mark.parametrize(
    "code", ["import time; time.sleep(60)", "input(); import time; time.sleep(60)"]
)
def test_silence_is_not_waited_for_beyond_its_time(agents: Start, code: str) -> None:
    """Whether it reads what it is shown or not."""
    agent = agents(code)
    screen = seen(*[element("x" * 1000)] * 1000)
    assert fault(lambda: agent.act(screen, 0.3)).reason is Reason.AGENT_SILENT


@pytest.mark.parametrize(
    "line", [b"tap", b"", b'{"action": NaN}', b'{"seconds": 1e999}', b"[" * 200_000, b'"\xff"']
)
def test_what_is_not_a_line_of_json_is_invalid(agents: Start, line: bytes) -> None:
    agent = agents(f"import os\ninput()\nos.write(1, {line!r} + b'\\n')\ninput()")
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert error.reason is Reason.AGENT_INVALID
    assert len(str(error)) < 300


def test_a_line_without_an_end_is_invalid(agents: Start) -> None:
    agent = agents("import sys\ninput()\nwhile True: sys.stdout.write('x' * 100000)")
    assert "more than 1000000 bytes" in str(fault(lambda: agent.act(seen(), PATIENCE_S)))


def test_two_lines_to_one_observation_are_invalid(agents: Start) -> None:
    agent = agents(
        "import sys\ninput()\nsys.stdout.write('{}\\n{}\\n')\nsys.stdout.flush()\ninput()"
    )
    agent.act(seen(), PATIENCE_S)
    error = fault(lambda: agent.act(seen(), PATIENCE_S))
    assert error.reason is Reason.AGENT_INVALID


def test_stderr_never_blocks_it_and_only_its_end_is_kept(agents: Start) -> None:
    agent = agents(
        """
        import sys
        input()
        sys.stderr.write("x" * 1_000_000 + "end")
        print("{}", flush=True)
        input()
        """
    )
    assert agent.act(seen(), PATIENCE_S).raw == {}
    agent.close()
    assert agent.errors.endswith("end")
    assert len(agent.errors) <= 20_000


FORKS = """
import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
quiet = {"stdin": subprocess.DEVNULL}
near = subprocess.Popen(["sleep", "1000"])
far = subprocess.Popen(["setsid", "sh", "-c", "trap '' TERM HUP; sleep 1000 & wait"], **quiet)
for line in sys.stdin:
    print(json.dumps({"pids": [os.getpid(), near.pid, far.pid]}), flush=True)
signal.pause()
"""


def test_closing_ends_it_and_all_that_it_started(agents: Start) -> None:
    """Though it ignores SIGTERM and its input's end, and has children in sessions of their own."""
    agent = agents(FORKS)
    pids = agent.act(seen(), PATIENCE_S).raw["pids"]
    agent.close()
    assert all(gone(pid) for pid in pids)


def test_children_of_a_program_that_ended_end_too(agents: Start) -> None:
    agent = agents(
        FORKS.replace("signal.pause()", "").replace("flush=True)", "flush=True)\n    break")
    )
    pids = agent.act(seen(), PATIENCE_S).raw["pids"]
    assert all(gone(pid) for pid in pids)


def test_it_dies_with_us_even_where_we_are_killed(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(READY + FORKS)
    holder = f"""
        import sys, time
        from orchestrator.agent.command_agent import CommandAgent
        from tests.agent.screens import seen
        agent = CommandAgent((sys.executable, {str(tmp_path / "agent.py")!r}))
        agent.start("goal", 20)
        print(*agent.act(seen(), 20).raw["pids"], agent._home, flush=True)
        time.sleep(1000)
    """
    command = [sys.executable, "-c", dedent(holder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        *pids, home = process.stdout.readline().decode().split()
        process.kill()
    assert all(gone(int(pid)) for pid in pids)
    os.rmdir(home)


def test_its_environment_arguments_and_folder_say_nothing(
    agents: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is blind: whatever the worker's own environment holds."""
    monkeypatch.setenv("EMUFARM_CASE", "secret_case")
    agent = agents(
        """
        import json, os, sys
        input()
        told = [dict(os.environ), os.getcwd(), os.listdir(), sys.argv[1:]]
        print(json.dumps({"told": told}), flush=True)
        input()
        """
    )
    environment, folder, files, arguments = agent.act(seen(), PATIENCE_S).raw["told"]
    assert set(environment) - {"LC_CTYPE"} == {
        "PATH",
        "HOME",
        "LANG",
    }  # Python itself adds LC_CTYPE
    assert folder == environment["HOME"]
    assert (files, arguments) == ([], [])
    assert "secret" not in json.dumps([environment, folder])
    agent.close()
    assert not Path(folder).exists()


def test_the_example_taps_what_the_goal_names_and_is_done() -> None:
    agent = CommandAgent((str(ROOT / "examples" / "command_agent.py"),))
    screen = seen(
        element("Battery", clickable=True),
        element("Internet", clickable=True),
        goal="Open Internet",
    )
    agent.start(screen.goal, PATIENCE_S)
    said = [agent.act(screen, PATIENCE_S).raw for _ in range(2)]
    agent.close()
    assert said == [{"action": "tap", "element": 1}, {"action": "done"}]
    assert [normalize(raw, screen).warnings for raw in said] == [(), ()]
    assert len((ROOT / "examples" / "command_agent.py").read_text().splitlines()) < 30
