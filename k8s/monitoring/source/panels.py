"""The kinds of panels; each has a title that asks, a text that explains, a unit and a legend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from grafana_foundation_sdk.builders.bargauge import Panel as BarGauge
from grafana_foundation_sdk.builders.common import (
    ReduceDataOptions,
    ScaleDistributionConfig,
    StackingConfig,
    VizLegendOptions,
    VizTooltipOptions,
)
from grafana_foundation_sdk.builders.dashboard import FieldColor, ThresholdsConfig
from grafana_foundation_sdk.builders.prometheus import Dataquery
from grafana_foundation_sdk.builders.stat import Panel as Stat
from grafana_foundation_sdk.builders.table import Panel as Table
from grafana_foundation_sdk.builders.timeseries import Panel as Timeseries
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    GraphDrawStyle,
    LegendDisplayMode,
    LegendPlacement,
    ScaleDistribution,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from .reasons import Colours

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH = 24  # of Grafana's grid
SMALL, LOW, TALL = 4, 5, 9  # rows of it
NARROW = 150  # pixels of a column with a digest, whose first characters are enough
DIGESTS = {"image", "plan"}
LEAST_SHARE = 0.001  # that a graph of shares tells from none
# One name has one colour on both dashboards; infrastructure is red. By the label that has the name;
# the last ones are legends of their own.
COLOURS = {
    "outcome": {
        "infra_failed": "dark-red", "success": "green", "task_failed": "orange",
        "agent_failed": "yellow", "oracle_inconclusive": "purple",
    },
    "state": {
        "quarantined": "dark-red", "idle": "green", "decided": "green", "starting": "yellow",
        "queued": "purple", "busy": "blue", "leased": "blue", "pending": "#808080",
    },
    "result": {"failed": "dark-red", "started": "green"},
    "": {
        "infrastructure": "dark-red", "lost": "dark-red", "success": "green", "agent": "orange",
        "inconclusive": "purple", "spent": "blue", "allowed": "#808080", "retries": "blue",
        "quarantines": "dark-red", "leases expired": "orange", "fenced": "purple",
    },
}  # fmt: skip

Panel: TypeAlias = Stat | Timeseries | BarGauge | Table
P = TypeVar("P", Stat, Timeseries, BarGauge, Table)


@dataclass(frozen=True)
class Query:
    """PromQL, and the name of its series in the legend: of one, or by its labels (`{{reason}}`)."""

    expression: str
    legend: str


@dataclass(frozen=True)
class Question:
    """What a panel answers: `title` asks it, `text` says how the answer is read."""

    title: str
    text: str
    unit: str


def stat(
    question: Question,
    *queries: Query,
    width: int,
    height: int = SMALL,
    steps: Mapping[float, str] | None = None,
    values: Mapping[str, str] | None = None,
    unknown: str = "nothing yet",
) -> Stat:
    """One number now. `steps`: colours from a value on; `values`: words for numbers."""
    made = (
        _asked(Stat(), question, queries, instant=True)
        .span(width)
        .height(height)
        .no_value(unknown)
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.VALUE)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .thresholds(_thresholds(steps or {}))
    )
    if values:
        words = {
            value: ValueMappingResult(text=word, index=index)
            for index, (value, word) in enumerate(values.items())
        }
        made.mappings([ValueMap(options=words)])
    return made


def graph(
    question: Question,
    *queries: Query,
    width: int = WIDTH // 2,
    stacked: bool = False,
    shares: bool = False,
) -> Timeseries:
    """Lines over time; stacked, areas that add up to all. `shares`: each tenth part of the whole is
    as high as the next, so that one in a hundred is not on the axis."""
    made = _drawn(Timeseries(), question, queries, width).draw_style(GraphDrawStyle.LINE)
    made.fill_opacity(40 if stacked else 0).line_width(1 if stacked else 2)
    if stacked:
        made.stacking(StackingConfig().mode(StackingMode.NORMAL))
    if shares:
        scale = ScaleDistributionConfig().type(ScaleDistribution.SYMLOG).log(10)
        made.max(1).scale_distribution(scale.linear_threshold(LEAST_SHARE))
    return made.legend(_legend("lastNotNull"))


def bars(
    question: Question, *queries: Query, width: int = WIDTH // 2, colours: Colours | None = None
) -> Timeseries:
    """Counts within each step of the graph, stacked; the legend has the sums over its range.
    `colours`: of reasons and causes."""
    made = _drawn(Timeseries(), question, queries, width).draw_style(GraphDrawStyle.BARS)
    made.fill_opacity(80).line_width(0).decimals(0).no_value("none")
    for colour, names in (colours or {}).items():
        made.override_by_regexp(f"/(^| )({'|'.join(names)})$/", [_coloured(colour)])
    made.stacking(StackingConfig().mode(StackingMode.NORMAL))
    return made.legend(_legend("sum"))


def levels(question: Question, *queries: Query, width: int = WIDTH // 2) -> BarGauge:
    """One bar for each series, as it is now."""
    made = (
        _asked(BarGauge(), question, queries, instant=True)
        .span(width)
        .height(TALL)
        .min(0)
        .no_value("nothing yet")
        .display_mode(BarGaugeDisplayMode.BASIC)
        .orientation(VizOrientation.HORIZONTAL)
        .reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
        .legend(VizLegendOptions().show_legend(False))
        .color_scheme(FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    )
    for name, colour in _colours(queries):
        made.override_by_regexp(f"/(^|, ){name}$/", [_coloured(colour)])
    return made


@dataclass(frozen=True)
class Column:
    query: Query  # its legend is the heading
    unit: str


def table(
    question: Question, columns: Sequence[Column], labels: Sequence[str], height: int
) -> Table:
    """A row for each set of labels, and a column for each query. That of a single query, which
    Grafana calls `Value` without a letter, is not shown: it says only that there is such a row."""
    made = _asked(Table(), question, [column.query for column in columns], instant=True)
    made.span(WIDTH).height(height).no_value("nothing yet")
    order = [*labels, *(f"Value #{_letter(index)}" for index in range(len(columns)))]
    made.with_transformation(DataTransformerConfig("merge", options={}))
    made.with_transformation(
        DataTransformerConfig(
            "organize",
            options={
                "excludeByName": {"Time": True, "Value": True},
                "indexByName": {name: index for index, name in enumerate(order)},
                "renameByName": {},
            },
        )
    )
    for index, column in enumerate(columns):
        if len(columns) > 1:
            heading = DynamicConfigValue("displayName", column.query.legend)
            unit = DynamicConfigValue("unit", column.unit)
            made.override_by_name(f"Value #{_letter(index)}", [heading, unit])
    for label in sorted(DIGESTS & {*labels}):
        made.override_by_name(label, [DynamicConfigValue("custom.width", NARROW)])
    return made


def _letter(index: int) -> str:
    return chr(ord("A") + index)


def _asked(panel: P, question: Question, queries: Sequence[Query], *, instant: bool) -> P:
    panel.title(question.title).description(question.text).unit(question.unit).datasource(SOURCE)
    for index, query in enumerate(queries):
        target = Dataquery().expr(query.expression).legend_format(query.legend)
        target.ref_id(_letter(index)).datasource(SOURCE)
        if isinstance(panel, Table):
            target.format(PromQueryFormat.TABLE)
        panel.with_target(target.instant() if instant else target.range())
    return panel


def _drawn(
    panel: Timeseries, question: Question, queries: Sequence[Query], width: int
) -> Timeseries:
    _asked(panel, question, queries, instant=False)
    panel.span(width).height(TALL).min(0).interval("30s").no_value("nothing yet")
    panel.color_scheme(FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    panel.tooltip(VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    for name, colour in _colours(queries):
        panel.override_by_name(name, [_coloured(colour)])
    return panel


def _legend(calculation: str) -> VizLegendOptions:
    shown = VizLegendOptions().show_legend(True).display_mode(LegendDisplayMode.TABLE)
    return shown.placement(LegendPlacement.RIGHT).calcs([calculation])


def _thresholds(steps: Mapping[float, str]) -> ThresholdsConfig:
    first = Threshold(value=None, color="green" if steps else "text")
    rest = [Threshold(value=value, color=colour) for value, colour in steps.items()]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps([first, *rest])


def _coloured(colour: str) -> DynamicConfigValue:
    return DynamicConfigValue("color", {"mode": "fixed", "fixedColor": colour})


def _colours(queries: Sequence[Query]) -> Iterator[tuple[str, str]]:
    """Of the series that these queries may have, by their names."""
    for query in queries:
        for label, colours in COLOURS.items():
            if f"{{{{{label}}}}}" in query.legend:
                yield from colours.items()
        if query.legend in COLOURS[""]:
            yield query.legend, COLOURS[""][query.legend]
