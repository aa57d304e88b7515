"""A run's manifest describes its phone, code and agent completely, and is sealed with the run."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path

from orchestrator.coordinator.transitions import RunSealed
from tests.pins.test_run_manifest import nothings
from tests.run.conftest import Farm

CARD = "name: mine\nversion: '2'\nmodel: m-1\nsampling: {temperature: 0}\n"


def test_a_run_names_all_that_it_was_made_of(
    farm: Farm, agent: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "card.yaml").write_text(CARD)
    spec = agent("action = {'action': 'done'}")
    words = ("--agent", spec, "--agent-card", str(tmp_path / "card.yaml"))
    code, output = farm.run("cases/smoke", "--devices", "1", *words)
    assert code == 0, output
    seal = farm.events()[-1]
    assert isinstance(seal, RunSealed)
    for name in ("run_manifest.json", "env_capabilities.json"):
        content = (farm.runs / "r" / name).read_bytes()
        assert seal.files[name] == hashlib.sha256(content).hexdigest()
        told = json.loads(content)
        assert nothings(told) == []
        assert list(told["android"]["devices"]) == ["slot-00.1"]
        assert told["android"]["input_method"] == "com.android.inputmethod.latin/.LatinIME"
    told = json.loads((farm.runs / "r" / "run_manifest.json").read_text())
    assert (told["agent"]["name"], told["agent"]["version"]) == ("mine", "2")
    script = str(tmp_path / "agent.py")
    assert told["agent"]["command"] == [sys.executable, script]
    digest = hashlib.sha256(Path(script).read_bytes()).hexdigest()
    assert told["agent"]["files_sha256"][script] == digest
    assert (told["inference"]["model"], told["inference"]["sampling"]) == (
        "m-1", {"temperature": 0},
    )  # fmt: skip
