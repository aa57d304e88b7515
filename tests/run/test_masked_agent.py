"""A secret in the agent's command line reaches the agent, and nothing that the run writes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.run.conftest import Farm, ended
from tests.run.test_road import SMOKE, Write, wait_for

SECRET, OTHER = "hunter2-S3cr3t", "hunter3-0th3r"
HIDDEN = "--api-key +MASKED+"


def places_with(folder: Path, secret: str) -> list[str]:
    """Every file below the folder that has the secret."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if secret.encode() in path.read_bytes()]


def test_a_secret_of_the_command_line_is_published_nowhere_and_given_again(
    farm: Farm, agent: Write, tmp_path: Path
) -> None:
    got = tmp_path / "got"
    body = (
        f"print(*sys.argv[1:], file=open({str(got)!r}, 'a'), flush=True)\n"
        f"if len(open({str(got)!r}).readlines()) == 1: time.sleep(600)\n"
        "action = {'action': 'done'}"
    )
    spec = f"{agent(body)} --api-key {SECRET}"
    words = ("--runs", str(farm.runs), "--run", "r", "--devices", "1", "--agent", spec)
    process = farm.start("run", SMOKE, *words)
    wait_for(lambda: got.exists() and got.read_text().endswith("\n"), process)
    process.kill()
    said = [process.communicate()[0]]
    assert "--agent has what looks like a secret" in said[0]

    for given, says in (
        ((), "what is masked is not recorded"),
        (("--agent", f"{agent(body)} --api-key {OTHER}"), "other masked words"),
        (("--agent", "reference"), "with which"),
    ):
        code, output = farm.resume("r", *given)
        assert (code, says in output) == (2, True), output
        said.append(output)
    code, output = farm.resume("r", "--devices", "1", "--agent", spec)
    assert code == 0, output
    assert got.read_text() == f"--api-key {SECRET}\n" * 2

    code, again = ended(
        farm.start("reproduce", str(farm.runs / "r"), "--agent", f"{agent(body)} --api-key {OTHER}")
    )
    assert code == 0, again
    assert "a difference may come from them" in again
    assert got.read_text().splitlines()[-1] == f"--api-key {OTHER}"

    for secret in (SECRET, OTHER):
        assert places_with(farm.runs, secret) == []
        assert not any(secret in output for output in (*said, output, again))
    for run in ("r", "r-again-1"):
        manifest = json.loads((farm.runs / run / "run_manifest.json").read_text())
        assert manifest["agent"]["spec"].endswith(HIDDEN)
        assert manifest["agent"]["command"][-1] == "+MASKED+"
    code, output = ended(farm.start("verify", str(farm.runs / "r")))
    assert code == 0, output


def test_an_agent_without_a_secret_is_recorded_as_it_was_given(farm: Farm, agent: Write) -> None:
    spec = agent("action = {'action': 'done'}") + " --max-tokens 7"
    code, output = farm.run(SMOKE, "--devices", "1", "--agent", spec)
    assert code == 0, output
    assert "looks like a secret" not in output
    assert farm.report()["agent"] == spec
    code, output = farm.resume("r", "--agent", "idle")
    assert (code, "leave --agent out" in output) == (2, True), output
