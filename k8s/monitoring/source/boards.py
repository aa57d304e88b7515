"""What both dashboards share: their variables, their links, and the way they become JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    QueryVariable,
    Row,
    TextBoxVariable,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from .panels import SOURCE, Panel

FILES = "http://127.0.0.1:8000"  # of `python3 -m http.server --bind 127.0.0.1` in a checkout
TAG = "emufarm"
EVERY = VariableOption(selected=True, text="All", value="$__all")
Rows = Mapping[str, Sequence[Panel]]  # by their headings


def board(uid: str, title: str, text: str, span: str, *, one_run: bool, report: str) -> Dashboard:
    """An empty dashboard. `one_run`: it is about one; `report`: where its report is."""
    made = Dashboard(title).uid(uid).description(text).tags([TAG]).readonly()
    made.time(f"now-{span}", "now").timezone("browser").refresh("30s")
    made.tooltip(DashboardCursorSync.CROSSHAIR)
    made.with_variable(DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    made.with_variable(
        _chosen("namespace", "Namespace", "label_values(emufarm_run_info, namespace)")
        .description("On one machine runs have none.")
        .multi(True).include_all(True).all_value(".*").current(EVERY)
    )  # fmt: skip
    runs = _chosen(
        "run", "Run", 'label_values(emufarm_run_info{namespace=~"$namespace"}, instance)'
    )
    if not one_run:
        runs.multi(True).include_all(True).all_value(".*").current(EVERY)
    made.with_variable(runs.refresh(VariableRefresh.ON_TIME_RANGE_CHANGED))
    made.with_variable(
        TextBoxVariable("files")
        .label("Files")
        .description("Where a checkout of emufarm is served: its docs/ and its runs/.")
        .default_value(FILES)
        .current(VariableOption(selected=True, text=FILES, value=FILES))
    )
    made.link(_link("Runbook", "${files}/docs/runbook.md", "What to type when something is wrong."))
    made.link(_link("Report", "${files}/runs/" + report, "Of runs on a cluster, once pulled."))
    made.link(
        DashboardLink("emufarm")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .include_vars(True)
        .keep_time(True)
    )
    return made


def fill(made: Dashboard, rows: Rows) -> str:
    """The dashboard with these panels, as JSON."""
    number = 0
    for heading, panels in rows.items():
        number += 1
        made.with_row(Row(heading).id(number))
        for panel in panels:
            number += 1
            made.with_panel(panel.id(number))
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def _chosen(name: str, label: str, values: str) -> QueryVariable:
    made = QueryVariable(name).label(label).datasource(SOURCE).query(values)
    return made.refresh(VariableRefresh.ON_DASHBOARD_LOAD).sort(VariableSort.ALPHABETICAL_ASC)


def _link(title: str, url: str, tooltip: str) -> DashboardLink:
    made = DashboardLink(title).type(DashboardLinkType.LINK).url(url).tooltip(tooltip)
    return made.icon("doc").target_blank(True)
