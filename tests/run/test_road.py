"""One episode from end to end: what can go wrong, and who is to blame."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orchestrator.coordinator.transitions import AttemptCommitted, EpisodeDecided, LeaseGranted
from orchestrator.evidence import manifest
from tests.run.conftest import PATIENCE_S, Farm, ended
from tests.run.processes import emulator_of

SMOKE = "cases/smoke"
Write = Callable[[str], str]


def test_the_reference_succeeds_and_leaves_a_sealed_bundle(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--devices", "1")
    assert code == 0, output
    assert set(farm.outcomes().values()) == {"success"}
    (bundle,) = (farm.runs / "r" / "episodes").glob("*/attempt-1-c1")
    assert manifest.verify(bundle) == []
    assert {"run_manifest.json", "env_capabilities.json", "plan.json"} <= {
        path.name for path in (farm.runs / "r").iterdir()
    }
    assert (farm.runs / "report.json").read_bytes() == (farm.runs / "r/report.json").read_bytes()
    assert farm.report()["complete"]


def test_idle_fails_the_task_and_the_run_is_complete_all_the_same(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--devices", "1", "--agent", "idle")
    assert code == 0, output
    assert set(farm.outcomes().values()) == {"task_failed"}
    code, _ = farm.run(SMOKE, "--devices", "1", "--agent", "idle", "--min-success", "0.5", name="g")
    assert code == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("sys.exit(7)", "agent_crashed"),
        ("time.sleep(600)", "agent_silent"),
        ("action = {'action': 'fly'}", "agent_invalid"),
    ],
)
def test_an_agent_that_breaks_is_its_own_fault_and_tries_once(
    farm: Farm, agent: Write, body: str, reason: str, tmp_path: Path
) -> None:
    case = quick_case(tmp_path)
    code, output = farm.run(case, "--devices", "2", "--agent", agent(body))
    assert code == 0, output
    (episode,) = farm.report()["episodes"]
    assert (episode["final"]["outcome"], episode["final"]["reason"]) == ("agent_failed", reason)
    assert episode["attempts"] == 1


@pytest.mark.parametrize("number", ["SIGKILL", "SIGTERM"])
def test_an_agent_that_ends_its_own_worker_has_no_second_try(
    farm: Farm, agent: Write, number: str
) -> None:
    """It is a child of its guard, which is the worker's. It had acted on the phone before."""
    body = (
        "action = {'action': 'tap', 'x': 540, 'y': 1200}\n"
        "if step == 1:\n"
        "    import signal\n"
        "    stat = open(f'/proc/{os.getppid()}/stat').read()\n"
        f"    os.kill(int(stat.rpartition(')')[2].split()[1]), signal.{number})"
    )
    code, output = farm.run(SMOKE, "--devices", "1", "--agent", agent(body))
    assert code == 0, output
    (episode,) = farm.report()["episodes"]
    final = episode["final"]
    assert (final["outcome"], final["blame"]) == ("oracle_inconclusive", "none")
    assert (final["reason"], episode["attempts"]) == ("unconfirmed_loss", 1)
    assert len([e for e in farm.events() if isinstance(e, LeaseGranted)]) == 1
    code, output = ended(farm.start("verify", str(farm.runs / "r")))
    assert code == 0, output


def quick_case(tmp_path: Path) -> Path:
    """The smoke case with little time for its agent."""
    (source,) = Path(SMOKE).glob("*/case.yaml")
    folder = tmp_path / "cases" / source.parent.name
    folder.mkdir(parents=True)
    text = re.sub(r"seconds: *[0-9.]+", "seconds: 4", source.read_text())
    (folder / "case.yaml").write_text(text)
    return tmp_path / "cases"


@contextmanager
def called(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterator[str]:
    """The URL of an agent that answers so to each observation; it is no program of the farm's."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told = {"type": "ready"} if asked["type"] == "hello" else answer(asked)
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_phone_killed_in_mid_attempt_is_infrastructure_and_tried_on_another(farm: Farm) -> None:
    """The agent waits once; the phone dies meanwhile. Both bundles stay."""
    acting = threading.Event()

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        first = not acting.is_set()
        acting.set()
        if asked["step"] > 0:
            return {"action": "done"}
        return {"action": "wait", "seconds": 20 if first else 0.1}

    with called(answer) as url:
        process = farm.start(
            "run", SMOKE, "--runs", str(farm.runs), "--run", "r", "--devices", "2",
            "--agent", url, "--backend", "local",
        )  # fmt: skip
        wait_for(acting.is_set, process)
        granted = next(e for e in farm.events() if isinstance(e, LeaseGranted))
        os.kill(emulator_of(process.pid, granted.device), signal.SIGKILL)
        code, output = ended(process)
    assert code == 0, output
    commits = [e for e in farm.events() if isinstance(e, AttemptCommitted)]
    assert [(e.attempt, str(e.judgement.outcome)) for e in commits] == [
        (1, "infra_failed"),
        (2, "task_failed"),
    ]
    assert commits[0].device != commits[1].device
    assert str(commits[0].judgement.reason) == "emulator_killed"
    for commit in commits:
        assert manifest.verify(farm.runs / "r" / commit.bundle) == []


def wait_for(true: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_nothing_is_left_after_a_run_is_killed_and_it_goes_on_where_it_was(farm: Farm) -> None:
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "2", "--repeats", "3")
    process = farm.start("run", SMOKE, *words)
    wait_for(lambda: b"episode_decided" in farm.journal(), process)
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    before = {e.episode for e in farm.events() if isinstance(e, AttemptCommitted)}
    assert before
    code, output = farm.resume("r", "--devices", "2")
    assert code == 0, output
    decided = [e.episode for e in farm.events() if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == 3
    assert before <= set(decided)
    assert set(farm.outcomes().values()) == {"success"}
    assert farm.processes() == []
