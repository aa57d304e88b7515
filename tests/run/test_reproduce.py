"""The same plan has the same results on other phones, unless a case reads device-specific data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from orchestrator.report.verify.run import verify_run
from tests.run.conftest import ROOT, Farm, ended


def test_two_restless_fleets_come_to_the_same(farm: Farm) -> None:
    words = ("-k", "sms_reply", "--devices", "2", "--seed", "9")
    code, output = farm.run("cases/public", *words, "--noise", "3")
    assert code == 0, output
    run = farm.runs / "r"
    code, output = ended(farm.start("reproduce", str(run), "--devices", "2", "--noise", "8"))
    assert code == 0, output
    assert "2 equal, 0 different, 0 could not be compared" in output
    assert verify_run(farm.runs / "r-again-1").problems == ()
    for name, noise in (("r", 3), ("r-again-1", 8)):
        told = json.loads((farm.runs / name / "run_manifest.json").read_text())
        assert told["reproducibility"]["noise"] == noise
        assert told["android"]["emulator_command"][-2:] == ["-sim-noise", f"{noise}000"]
    # Both exist: nothing is run to compare them, and one episode of two is enough to ask for.
    against = ("--against", str(farm.runs / "r-again-1"), "--episodes", "1", "--json")
    code, output = ended(farm.start("reproduce", str(run), *against))
    assert code == 0, output
    compared = json.loads(output)
    assert (compared["same"], compared["episodes"], compared["missing"]) == (True, 1, [])
    code, output = ended(farm.start("reproduce", str(run), "--against", str(run)))
    assert code == 2, output
    assert "are one run" in output


def volatile_case(folder: Path) -> Path:
    """The smoke case with a question that reads the row ids and dates of messages."""
    (source,) = (ROOT / "cases/smoke").glob("*/case.yaml")
    case = yaml.safe_load(source.read_text())
    case["setup"] = [{"sms": {"from": "+15550100", "text": "Hello"}}]
    case["forbidden"].append(
        {
            "name": "row_id",
            "sqlite": {
                "path": "/data/data/com.android.providers.telephony/databases/mmssms.db",
                "sql": "SELECT _id, date FROM sms",
                "equals": [["never", "so"]],
            },
        }
    )
    place = folder / "cases" / str(case["id"])
    place.mkdir(parents=True)
    (place / "case.yaml").write_text(json.dumps(case))  # which is YAML too
    return place.parent


def test_a_case_that_reads_a_volatile_column_is_not_reproduced(farm: Farm, tmp_path: Path) -> None:
    cases = volatile_case(tmp_path)
    code, output = farm.run(cases, "--devices", "1", "--noise", "3")
    assert code == 0, output
    run = farm.runs / "r"
    words = ("--devices", "1", "--noise", "8", "--episodes", "1")
    code, output = ended(farm.start("reproduce", str(run), *words))
    assert code == 1, output
    assert "row_id (post)" in output
    assert "outcome" not in output
    case = cases / "wifi_off" / "case.yaml"
    case.write_text(case.read_text().replace("Turn off Wi-Fi", "Turn Wi-Fi off"))
    code, output = ended(farm.start("reproduce", str(run)))
    assert code == 2, output
    assert "wifi_off changed since" in output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--backend", "moon"), "there is no backend 'moon'"),
        ((), "there is no run"),
    ],
)
def test_what_cannot_be_reproduced_is_said(farm: Farm, words: tuple[str, ...], says: str) -> None:
    code, output = ended(farm.start("reproduce", str(farm.runs / "none"), *words))
    assert code == 2, output
    assert says in output
