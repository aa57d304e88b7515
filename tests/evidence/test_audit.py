"""The auditor finds nothing wrong in what the farm writes, and finds each rule that is broken."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

from orchestrator.evidence.audit.rules import RULES, Finding
from orchestrator.evidence.audit.runs import audit
from tests.evidence.breaking import Break, append, at, document, lines, put  # fmt: skip
from tests.evidence.breaks import BREAKS

DOCS = Path(__file__).parents[2] / "docs" / "evidence.md"


def audit_run(run: Path) -> list[Finding]:
    return audit(run).findings


def test_what_the_farm_writes_has_no_finding(recorded: Path) -> None:
    audited = audit(recorded)
    assert audited.findings == []
    assert audited.bundles == 1
    assert audited.events > 9 * 9
    (bundle,) = recorded.glob("episodes/*/attempt-1-c1")
    assert audit_run(bundle) == []
    assert audit(bundle).bundles == 1
    assert {line["event"] for line in lines(bundle, "consent_trace")} == {
        "ask",
        "answer",
        "confirm",
    }


@pytest.mark.parametrize(
    ("rule", "do"), [(rule, do) for rule, breaks in BREAKS.items() for do in breaks]
)
def test_a_broken_rule_is_named_and_no_other(run: Path, bundle: Path, rule: str, do: Break) -> None:
    do(bundle)
    found = audit_run(run)
    assert {finding.rule for finding in found} == {rule}, found
    assert all(finding.text and "\n" not in finding.text for finding in found)


def test_every_rule_can_be_broken() -> None:
    assert BREAKS.keys() == RULES.keys()


def test_the_docs_list_every_rule_in_the_same_words_and_no_other() -> None:
    section = DOCS.read_text().partition("\n## Rules\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE) == [*RULES.items()]


def test_a_finding_names_its_file_and_line(run: Path, bundle: Path) -> None:
    at("action_trace", 2, event="deed")(bundle)
    (finding,) = audit_run(run)
    assert run / finding.file == bundle / "action_trace.jsonl"
    assert finding.line == 3
    assert str(finding).startswith(f"{finding.file}:3: not_an_event: ")


def test_a_name_that_leads_out_of_the_bundle_is_not_followed(run: Path, bundle: Path) -> None:
    at("obs_trace", 0, screenshot_file="screenshots/../../../../run_manifest.json")(bundle)
    assert "picture" in {finding.rule for finding in audit_run(run)}


def test_an_attempt_that_never_reached_the_agent_has_only_its_word(run: Path, bundle: Path) -> None:
    """What it left besides is held against the rules of its lines all the same."""
    for path in bundle.iterdir():
        if path.name not in ("attempt.json", "MANIFEST.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    document(
        "attempt.json", oracle_results=None, effort={}, spent="",
        judgement={
            "outcome": "infra_failed", "blame": "infra", "phase": "setup",
            "reason": "setup_not_seen", "text": "no", "violations_known": False,
        },
        trouble={"phase": "setup", "reason": "setup_not_seen", "text": "no"},
    )(bundle)  # fmt: skip
    assert audit_run(run) == []
    put("oracle_trace.jsonl", b"{}\n")(bundle)
    assert [finding.rule for finding in audit_run(run)] == ["not_an_event"]


def test_what_stands_in_a_bundles_place_is_one(run: Path) -> None:
    (run / "episodes" / "e" / "attempt-1-c1").mkdir(parents=True)
    (run / "episodes" / "e" / ".attempt-2.part").mkdir()
    assert {finding.rule for finding in audit_run(run)} == {"file_missing"}
    assert audit(run).bundles == 2


def test_a_bundle_that_is_still_being_unpacked_is_none_yet(run: Path, bundle: Path) -> None:
    unfinished = bundle.parent / ".attempt-2.0123.part"
    unfinished.mkdir()
    shutil.copy(bundle / "attempt.json", unfinished)
    assert audit_run(run) == []
    assert audit(run).bundles == 1


def test_a_bundle_in_anothers_place_is_found(run: Path, bundle: Path) -> None:
    shutil.copytree(bundle, run / "episodes" / "other.benign.1" / "attempt-1-c1")
    shutil.copytree(bundle, bundle.parent / "fenced-0123")
    assert [(finding.rule, finding.file.split("/")[1]) for finding in audit_run(run)] == [
        ("place", "other.benign.1")
    ]


def test_what_broke_everywhere_is_not_told_everywhere(run: Path, bundle: Path) -> None:
    append("foreground_trace.jsonl", b"{}\n" * 1000)(bundle)
    assert 10 < len(audit_run(run)) < 50


def test_what_a_finding_quotes_cannot_harm_a_terminal(run: Path, bundle: Path) -> None:
    at("obs_trace", 0, screenshot_file="\x1b[2J\ud800" + "x" * 9999)(bundle)
    for finding in audit_run(run):
        assert finding.text.isprintable()
        assert len(finding.text) < 1000
        finding.text.encode()


def harm(path: Path, chance: random.Random) -> None:
    data = path.read_bytes()
    kind = chance.randrange(7)
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.unlink()
        path.mkdir()
    elif kind == 2:
        path.write_bytes(chance.randbytes(2000))
    elif kind == 3:
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
    elif kind == 4 and data:
        where = chance.randrange(len(data))
        path.write_bytes(data[:where] + chance.randbytes(1) + data[where + 1 :])
    elif kind == 5:
        words = [b"null", b"{}", b"[]", b"-1", b'""', b"1e400", b"true", b'{"a":' * 500]
        path.write_bytes(re.sub(rb"\d+|true|null", lambda _: chance.choice(words), data, count=9))
    else:
        found = re.findall(rb'"\w+": ', data) or [b""]
        path.write_bytes(data.replace(chance.choice(found), chance.choice(found)))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_is_there_is_audited_to_its_end(run: Path, seed: int) -> None:
    """Findings or none, and never an exception."""
    chance = random.Random(seed)
    files = sorted(path for path in run.rglob("*") if path.is_file())
    for path in chance.sample(files, 3):
        harm(path, chance)
    for finding in audit_run(run):
        assert finding.rule in RULES
        str(finding).encode()
