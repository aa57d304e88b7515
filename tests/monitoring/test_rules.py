"""Every rule is valid, and every alert fires when it should and is silent when it nearly should."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.prometheus import install_prometheus

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "k8s" / "monitoring"
FILES = sorted((MONITORING / "rules").glob("*.yaml"))
TESTS = sorted((Path(__file__).parent / "rules").glob("*.yaml"))
SEVERITIES = {"critical", "warning", "info"}


def rules(kind: str) -> list[dict[str, Any]]:
    """The alerts (`alert`) or the recording rules (`record`)."""
    groups = (group for file in FILES for group in yaml.safe_load(file.read_text())["groups"])
    return [rule for group in groups for rule in group["rules"] if kind in rule]


ALERTS = {rule["alert"]: rule for rule in rules("alert")}


def expectations(alert: str) -> Iterator[list[dict[str, Any]]]:
    """What each test expects to fire of it."""
    for file in TESTS:
        for test in yaml.safe_load(file.read_text())["tests"]:
            for expected in test.get("alert_rule_test", []):
                if expected["alertname"] == alert:
                    yield expected.get("exp_alerts", [])


def anchors(document: Path) -> set[str]:
    """Of its headings, as the usual viewers of Markdown make them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def promtool(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["promtool", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def installed() -> None:
    install_prometheus()


@pytest.mark.metrics
@pytest.mark.usefixtures("installed")
def test_promtool_accepts_every_rule_file() -> None:
    done = promtool("check", "rules", *FILES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.metrics
@pytest.mark.usefixtures("installed")
def test_promtool_accepts_the_configuration_for_a_plain_prometheus() -> None:
    """Debian's build does not know Kubernetes, so the job for a cluster is in a file of its own."""
    done = promtool("check", "config", MONITORING / "prometheus.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.metrics
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_alerts_fire_and_are_silent_as_their_series_say(file: Path) -> None:
    done = promtool("test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.metrics
@pytest.mark.usefixtures("installed")
def test_the_join_of_the_document_takes_runs_of_one_name_in_two_namespaces(tmp_path: Path) -> None:
    lines = (ROOT / "docs" / "metrics.md").read_text().splitlines()
    (join,) = (each.strip() for each in lines if each.startswith("    sum by (image)"))
    places = [f'namespace="{each}", instance="night"' for each in ("one", "two")]
    series = [f'emufarm_run_info{{{each}, image="sha256:a"}}' for each in places]
    series += [f'emufarm_infra_failures_total{{{each}, reason="other"}}' for each in places]
    test = {
        "input_series": [{"series": each, "values": "1"} for each in series],
        "promql_expr_test": [
            {"expr": join, "exp_samples": [{"labels": '{image="sha256:a"}', "value": 2}]}
        ],
    }
    file = tmp_path / "join.yaml"
    file.write_text(yaml.safe_dump({"tests": [test]}))
    done = promtool("test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_has_a_series_that_fires_it_and_one_that_does_not(alert: str) -> None:
    found = list(expectations(alert))
    assert any(found)
    assert not all(found)


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_what_is_wrong_and_what_to_do(alert: str) -> None:
    """Its summary is the same for all, so that alerts are grouped by it; the rest is in its
    description."""
    rule = ALERTS[alert]
    assert re.fullmatch(r"Emufarm[A-Z][A-Za-z]+", alert)
    assert set(rule["labels"]) == {"severity"}
    assert rule["labels"]["severity"] in SEVERITIES
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    assert "{{" not in rule["annotations"]["summary"]
    assert "{{ $" in rule["annotations"]["description"]
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert page == "docs/runbook.md"
    assert anchor in anchors(ROOT / page)


def test_every_alert_is_named_in_the_runbook() -> None:
    named = set(re.findall(r"`(Emufarm\w+)`", (ROOT / "docs" / "runbook.md").read_text()))
    assert named == set(ALERTS)


def test_the_table_of_alerts_has_each_with_its_severity() -> None:
    lines = (ROOT / "docs" / "monitoring.md").read_text().splitlines()
    cells = [line.split(" | ") for line in lines if line.startswith("| `Emufarm")]
    named = {name: cell[1] for cell in cells for name in re.findall(r"`(\w+)`", cell[0])}
    assert named == {name: rule["labels"]["severity"] for name, rule in ALERTS.items()}


def test_links_within_the_runbook_lead_somewhere() -> None:
    document = ROOT / "docs" / "runbook.md"
    wanted = re.findall(r"\]\(#([^)]+)\)", document.read_text())
    assert set(wanted) - anchors(document) == set()


def test_no_alert_reads_what_an_agent_decides() -> None:
    """Outcomes of the agent, its failures and its violations wake nobody."""
    texts = " ".join(rule["expr"] for rule in (*rules("alert"), *rules("record")))
    agents = ["agent_failures", "episodes_decided", "violations", "task_failed", "agent_failed"]
    assert [word for word in agents if word in texts] == []


def test_a_recording_rule_is_named_by_its_level_its_subject_and_its_operation() -> None:
    names = [rule["record"] for rule in rules("record")]
    assert len(set(names)) == len(names)
    shape = re.compile(r"(namespace|instance|image):emufarm_[a-z_]+:[a-z0-9_]+")
    assert [name for name in names if not shape.fullmatch(name)] == []
