"""The documents of a real run match their schemas, and other programs can read them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

from jsonschema import Draft202012Validator

from orchestrator.report import schemas
from tests.run.conftest import ROOT, Farm, ended

SMOKE = "cases/smoke"


def kept(name: str, document: Path) -> None:
    schema = ROOT / "docs" / "schema" / schemas.file_name(name)
    Draft202012Validator(json.loads(schema.read_text())).validate(json.loads(document.read_text()))


def test_a_run_s_documents_keep_to_their_schemas_and_runs_can_be_compared(
    farm: Farm, tmp_path: Path
) -> None:
    for agent in ("idle", "reference"):
        code, output = farm.run(SMOKE, "--devices", "1", "--agent", agent, name=agent)
        assert code == 0, output
    run = farm.runs / "reference"
    for name in ("plan", "report"):
        kept(name, run / f"{name}.json")
    (bundle,) = run.glob("episodes/*/attempt-1-c1")
    kept("manifest", bundle / "MANIFEST.json")
    kept("attempt", bundle / "attempt.json")

    table, suite = tmp_path / "e.csv", tmp_path / "j.xml"
    words = ("export", str(run), "--csv", str(table), "--junit", str(suite))
    code, output = ended(farm.start(*words))
    assert code == 0, output
    with table.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["outcome"] == "success"
    assert (run / row["bundle"]).samefile(bundle)
    assert ElementTree.parse(suite).getroot().get("tests") == "1"

    code, output = ended(farm.start("compare", str(farm.runs / "idle"), str(run), "--json"))
    assert code == 0, output
    bsr = json.loads(output)["figures"]["BSR"]
    assert (bsr["a"], bsr["b"], bsr["difference"], bsr["p"]) == (0.0, 1.0, 1.0, 1.0)
