"""The simulated phone keeps the device contract, and each breach of it is reported by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.device.check import passed, run_check
from orchestrator.device.expectations import EXPECTATIONS
from orchestrator.farm.simulated_phone import boot, simulated_phone


@pytest.mark.parametrize("noise", [None, *range(1, 21)])
def test_the_simulated_phone_keeps_every_expectation(noise: int | None, tmp_path: Path) -> None:
    with simulated_phone(noise=noise) as running:
        device, _ = boot(running)
        findings = run_check(device, destructive=True, folder=tmp_path)
    broken = [
        f"{each.name}: {each.expected}, not {each.seen}" for each in findings if not each.holds
    ]
    assert broken == []
    assert passed(findings)
    assert len(findings) == len(EXPECTATIONS)
    lines = (tmp_path / "recordings.jsonl").read_text().rstrip("\n").split("\n")
    recorded = [json.loads(line) for line in lines]
    assert {each["expectation"] for each in recorded} >= {"shell.exit-codes", "console.ping"}


def test_a_restarted_phone_is_new_and_reachable() -> None:
    with simulated_phone() as running:
        device, _ = boot(running)
        device.settings.put("global", "emufarm_check", "before the restart")
        assert device.supervisor is not None
        facts = device.supervisor.restart()
        assert device.wait_ready(30).ready
        assert device.settings.get("global", "emufarm_check") is None
        assert facts.restarts == 1
        identity = device.identity()
        assert identity.avd_name == facts.avd
        assert identity.emulator_version == facts.emulator_version


@pytest.mark.parametrize(
    ("defect", "named"),
    [
        ("exit-code-lost", "shell.exit-codes"),
        ("stdout-mangled", "shell.binary"),
        ("screencap-truncated", "screen.picture"),
        ("settings-empty", "settings.missing"),
        ("ui-dump-broken", "screen.elements"),
        ("dump-stale", "input.tap"),
        ("snapshot-load-noop", "snapshot.round-trip"),
        ("console-ko-as-ok", "console.refusals"),
    ],
)
def test_a_planted_defect_is_named(defect: str, named: str) -> None:
    area = named.partition(".")[0]
    looks = [each for each in EXPECTATIONS if each.name.partition(".")[0] in (area, "boot")]
    with simulated_phone(fault=defect) as running:
        device, _ = boot(running)
        findings = run_check(device, destructive=True, expectations=looks)
    assert named in [finding.name for finding in findings if finding.holds is False]
    assert "boot.ready" in [finding.name for finding in findings if finding.holds]
    assert not passed(findings)
