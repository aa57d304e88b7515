"""Every panel says what it answers, and the dashboards are those that the code makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from docs import panels
from k8s.monitoring.source.written import DASHBOARDS, WRITTEN
from orchestrator.metrics.families import FAMILIES
from tests.e2e.prometheus import Prometheus
from tests.monitoring.test_rules import rules

ROOT = Path(__file__).parents[2]
FILES = sorted(DASHBOARDS.glob("*.json"))
BOARDS: dict[str, dict[str, Any]] = {file.stem: json.loads(file.read_text()) for file in FILES}
PANELS = [
    pytest.param(panel, id=f"{name}-{panel['title']}")
    for name, board in BOARDS.items()
    for panel in board["panels"]
    if panel["type"] != "row"
]
every_board = pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
every_panel = pytest.mark.parametrize("panel", PANELS)


def queries() -> Iterator[str]:
    for board in BOARDS.values():
        for panel in board["panels"]:
            yield from (target["expr"] for target in panel.get("targets", []))


@every_panel
def test_no_reason_or_cause_looks_like_success(panel: dict[str, Any]) -> None:
    """Grafana would choose a colour by the name, green among others."""
    for target in panel["targets"]:
        if re.search(r"\{\{(reason|cause)\}\}", target["legendFormat"]):
            (name,) = {one for one, _ in series(target["expr"]) if one.endswith("_total")}
            (family,) = (each for each in FAMILIES if each.full_name == name)
            for labels in family.series:
                values = dict(zip(family.labels, labels, strict=True))
                legend = re.sub(r"\{\{(\w+)\}\}", lambda at: values[at[1]], target["legendFormat"])  # noqa: B023
                (colour,) = {
                    one["properties"][0]["value"]["fixedColor"]
                    for one in panel["fieldConfig"]["overrides"]
                    if re.search(one["matcher"]["options"].strip("/"), legend)
                }
                assert colour != "green"


def series(expression: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each of our families that the expression reads, and the values that it asks for."""
    for name, matchers in re.findall(r"\b(emufarm_\w+)(?:\{([^}]*)\})?", expression):
        yield name, dict(re.findall(r'(\w+)=~?"([^"]*)"', matchers))


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.name)
def test_a_written_file_is_what_its_code_makes(file: Path) -> None:
    """`make dashboards` writes it again."""
    assert file.read_text() == WRITTEN[file]()


def test_there_are_two_dashboards() -> None:
    assert {name: board["uid"] for name, board in BOARDS.items()} == {
        "farm": "emufarm-farm",
        "run": "emufarm-run",
    }


@every_panel
def test_a_panel_asks_and_says_how_its_answer_is_read(panel: dict[str, Any]) -> None:
    assert panel["title"].endswith("?")
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]


@every_panel
def test_every_series_of_a_panel_has_a_name(panel: dict[str, Any]) -> None:
    """Graphs have a legend; numbers, bars and columns carry the name themselves."""
    assert panel["targets"]
    assert all(target["legendFormat"] for target in panel["targets"])
    assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    if panel["type"] == "timeseries":
        assert panel["options"]["legend"]["showLegend"]
    if panel["type"] == "table":
        renamed = {
            override["matcher"]["options"]: override["properties"][0]["value"]
            for override in panel["fieldConfig"]["overrides"]
            if override["properties"][0]["id"] == "displayName"
        }
        # Grafana calls the column of a single query `Value`; it is left out.
        several = panel["targets"] if len(panel["targets"]) > 1 else []
        assert renamed == {f"Value #{one['refId']}": one["legendFormat"] for one in several}
        assert panel["transformations"][1]["options"]["excludeByName"]["Value"]


@every_panel
def test_a_panel_reads_the_chosen_runs_from_the_chosen_prometheus(panel: dict[str, Any]) -> None:
    for asked in (panel, *panel["targets"]):
        assert asked["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    for target in panel["targets"]:
        for name, matchers in series(target["expr"]):
            chosen = (matchers.get("namespace"), matchers.get("instance"))
            assert chosen == ("$namespace", "$run"), name


@every_board
def test_panels_do_not_overlap_and_fill_their_rows(board: dict[str, Any]) -> None:
    places = {}
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24
        places[panel["id"]] = cells
    assert len(places) == len(board["panels"])
    assert all(not one & other for one, other in combinations(places.values(), 2))
    for top in {panel["gridPos"]["y"] for panel in board["panels"]}:
        widths = [one["gridPos"]["w"] for one in board["panels"] if one["gridPos"]["y"] == top]
        assert sum(widths) == 24


@every_board
def test_prometheus_the_namespace_and_the_run_are_chosen(board: dict[str, Any]) -> None:
    variables = {one["name"]: one for one in board["templating"]["list"]}
    assert list(variables) == ["datasource", "namespace", "run", "files"]
    assert variables["datasource"]["query"] == "prometheus"
    # Empty matches a local run too, which has no namespace.
    assert variables["namespace"]["allValue"] == ".*"
    assert 'namespace=~"$namespace"' in variables["run"]["query"]
    assert variables["run"].get("includeAll", False) is (board["uid"] == "emufarm-farm")


@every_board
def test_the_runbook_the_report_and_the_other_dashboard_are_one_click_away(
    board: dict[str, Any],
) -> None:
    links = {one["title"]: one for one in board["links"]}
    runbook = links["Runbook"]["url"]
    assert (ROOT / runbook.removeprefix("${files}/")).is_file()
    assert re.fullmatch(r"\$\{files\}/runs/(\$\{run\}/)?report\.json", links["Report"]["url"])
    (others,) = (one for one in links.values() if one["type"] == "dashboards")
    assert others["tags"] == board["tags"] == ["emufarm"]


def test_every_series_that_is_read_is_exposed() -> None:
    """By rules and dashboards, with the labels and the values that they ask for."""
    exposed = {
        name: family
        for family in FAMILIES
        for name in (
            [f"{family.full_name}_{part}" for part in ("bucket", "count", "sum")]
            if family.kind == "histogram"
            else [family.full_name]
        )
    }
    targets = {"namespace", "instance"}
    expressions = [
        *queries(),
        *(rule["expr"] for kind in ("alert", "record") for rule in rules(kind)),
    ]
    for expression in expressions:
        plain = re.sub(r"\b(?:namespace|instance|image):emufarm_\w+:\w+", "", expression)
        for name, matchers in series(plain):
            family = exposed[name]
            for label, value in matchers.items():
                if label in targets:
                    continue
                place = family.labels.index(label)
                values = {one[place] for one in family.series}
                assert set(value.split("|")) & values, (name, label, value)


@pytest.mark.metrics
def test_prometheus_takes_every_query(tmp_path: Path) -> None:
    """It has no data here, so this is about the language alone."""
    with Prometheus(tmp_path) as prometheus:
        for query in queries():
            plain = re.sub(r"\$(namespace|run)\b", ".*", query)
            plain = re.sub(r"\$__(interval_ms|range_s)\b", "3600", plain)
            plain = re.sub(r"\$__(interval|range)\b", "1h", plain)
            assert "$" not in plain
            prometheus.query(plain)
        assert {rule["health"] for rule in prometheus.rules()} <= {"ok", "unknown"}


def test_the_document_has_every_panel_with_its_queries() -> None:
    """`make metrics-pictures` writes it again; answers differ from run to run."""
    document = panels.DOCUMENT.read_text()
    assert panels.without_answers(document) == panels.text()
    asked = [panel for board in BOARDS.values() for panel in board["panels"] if "targets" in panel]
    assert document.count(f"\n{panels.ANSWERED}") == len(asked)
    for board in BOARDS:
        assert (ROOT / "docs" / "metrics" / f"{board}.png").stat().st_size < 200_000


def test_a_plain_grafana_finds_the_dashboards_and_prometheus() -> None:
    provisioning = ROOT / "k8s" / "monitoring" / "grafana"
    (provider,) = yaml.safe_load((provisioning / "dashboards.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    (source,) = yaml.safe_load((provisioning / "datasources.yaml").read_text())["datasources"]
    assert source["type"] == "prometheus"
