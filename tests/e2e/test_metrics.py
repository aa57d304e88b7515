"""What a real Prometheus knows of real local runs: their counts, every panel, and who is woken."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docs import panels as panels_document
from orchestrator.coordinator.transitions import DeviceFailed, DeviceLost, Event
from orchestrator.metrics.families import FAMILIES
from orchestrator.outcome import Cause
from tests.e2e.boards import Answers, Target, View, answers, panels
from tests.e2e.counted import WINDOW, Counts, counts_the_journal, never_went_down
from tests.e2e.drawing import draw
from tests.e2e.prometheus import Prometheus
from tests.e2e.watched import (
    DEVICES,
    HOSTILE,
    KILLED,
    TROUBLED,
    Interrupted,
    Watch,
    Watched,
    a_watched_farm,
    killed,
    quiet,
    troubled,
)
from tests.e2e.wording import in_words
from tests.metrics.test_totals import recount
from tests.monitoring.test_rules import ALERTS, rules
from tests.run.conftest import Farm, agent_program

pytestmark = pytest.mark.metrics

KEEP = "EMUFARM_KEEP_PICTURES"  # a variable that `make metrics-pictures` sets
PICTURES = Path(__file__).parents[2] / "docs" / "metrics"
MOST_BYTES = 200_000
MAY_BE_EMPTY = {"inconclusive: {{reason}}"}  # every other list of reasons has one in these runs


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Farm:
    return a_watched_farm(tmp_path_factory.mktemp("watched"), tmp_path_factory)


@pytest.fixture(scope="module")
def bad_agent(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    return agent_program(tmp_path_factory.mktemp("agent"))


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with Prometheus(tmp_path_factory.mktemp("prometheus")) as running:
        yield running


@pytest.fixture(scope="module")
def trouble(farm: Farm, prometheus: Prometheus) -> Watched:
    return troubled(Watch(farm, prometheus))


@pytest.fixture(scope="module")
def interrupted(
    farm: Farm, prometheus: Prometheus, trouble: Watched, bad_agent: Callable[[str], str]
) -> Interrupted:
    """After the other one: two cores are enough for one run at a time."""
    return killed(Watch(farm, prometheus), bad_agent)


@pytest.fixture(scope="module")
def shown(
    prometheus: Prometheus, trouble: Watched, interrupted: Interrupted
) -> dict[str, tuple[View, Answers]]:
    """Each dashboard at a moment when a run was under way: *Run* shows the troubled one,
    and *Farm* both."""
    views = {
        "run": View.of(TROUBLED, trouble.began, foretold_last(prometheus, trouble)),
        "farm": View.of(".*", trouble.began, foretold_last(prometheus, interrupted.watched)),
    }
    return {board: (view, answers(prometheus, board, view)) for board, view in views.items()}


@pytest.mark.parametrize("name", [TROUBLED, KILLED])
def test_prometheus_counts_what_the_journal_and_the_report_count(
    name: str, prometheus: Prometheus, trouble: Watched, interrupted: Interrupted
) -> None:
    run = {TROUBLED: trouble, KILLED: interrupted.watched}[name]
    assert run.code == (20 if run is trouble else 0), run.output
    found = counts_the_journal(prometheus, name, run.events)
    assert_reported(found, run)


def assert_reported(found: Counts, run: Watched) -> None:
    """The report says the same, of a run in which nothing was void."""
    told = run.report["infrastructure"]

    def total(family: str, *labels: str) -> float:
        return sum(
            value for (name, of), value in found.items() if name == family and set(labels) <= {*of}
        )

    assert told["attempts"] == total("attempts_total")
    assert told["attempts_failed"] == total("attempts_total", "infra_failed")
    assert told["attempts_failed"] == total("infra_failures_total")
    assert told["device_starts"] == total("device_starts_total")
    assert told["device_starts_failed"] == total("device_start_failures_total")
    for reason, count in told["reasons"].items():
        assert count == total("infra_failures_total", reason)
    for variant in ("benign", "attack"):
        finals = Counter(
            each["final"]["outcome"]
            for each in run.report["episodes"]
            if each["variant"] == variant
        )
        for outcome, count in finals.items():
            assert count == found["episodes_decided_total", (variant, outcome)]


def test_devices_were_lost_by_a_crash_and_by_a_kill_and_a_start_failed(trouble: Watched) -> None:
    causes = {each.cause for each in trouble.events if isinstance(each, DeviceLost)}
    assert {Cause.CRASHED, Cause.KILLED} <= causes
    assert any(isinstance(each, DeviceFailed) for each in trouble.events)


def test_every_query_of_every_panel_answers_as_its_panel_reads_it(
    shown: dict[str, tuple[View, Answers]],
) -> None:
    for board, (_, answered) in shown.items():
        for panel in panels(board):
            names: list[str] = []
            for target, series in zip(panel.targets, answered.get(panel.title, ()), strict=True):
                asked = f"{board}: {panel.title}: {target.expression}"
                assert series or target.legend in MAY_BE_EMPTY, asked
                for each in series:
                    assert target.labels <= each.labels.keys(), asked
                if panel.kind == "table":
                    continue
                assert target.labels or len(series) == 1, asked
                names += [each.name for each in series]
            assert len(names) == len(set(names)), panel.title


@pytest.mark.parametrize("step", [1.0, 7.0, 30.0])
def test_the_bars_of_every_panel_add_up_to_the_journals(
    step: float, prometheus: Prometheus, trouble: Watched, interrupted: Interrupted
) -> None:
    """Also those of a run that was found late, killed and resumed."""
    events = {"run": trouble.events, "farm": [*trouble.events, *interrupted.watched.events]}
    end = interrupted.watched.ended + 60
    for board, run in (("run", TROUBLED), ("farm", ".*")):
        view = View.of(run, trouble.began - 60, end, step)
        for panel in panels(board):
            if panel.counts:
                for target in panel.targets:
                    found = {each.name: each.sum for each in target.ask(prometheus, view)}
                    wanted = journaled(target, events[board])
                    told = {name: value for name, value in found.items() if value}
                    assert told == pytest.approx(wanted), (board, panel.title)


def journaled(target: Target, events: list[Event]) -> dict[str, float]:
    """What the journal has of the counter that the query reads, by the legend's names."""
    (name,) = set(re.findall(r"emufarm_(\w+_total)", target.expression))
    (family,) = (each for each in FAMILIES if each.name == name)
    counted: dict[str, float] = {}
    for counter, labels, amount in recount(events):
        if counter == name and amount:
            legend = target.name(dict(zip(family.labels, labels, strict=True)))
            counted[legend] = counted.get(legend, 0.0) + amount
    return counted


def test_when_a_run_was_started_is_told_before_and_after_its_resume(
    prometheus: Prometheus, interrupted: Interrupted
) -> None:
    run = interrupted.watched
    told = prometheus.query(
        f'min_over_time(emufarm_run_start_time_seconds{{instance="{KILLED}"}}[{WINDOW}])'
        f' == max_over_time(emufarm_run_start_time_seconds{{instance="{KILLED}"}}[{WINDOW}])'
    )
    assert run.began - 1 <= float(told[0]["value"][1]) <= run.ended


def test_as_many_devices_are_wanted_as_were_asked_for_until_the_run_is_over(
    prometheus: Prometheus, trouble: Watched
) -> None:
    def told(function: str) -> str:
        asked = f'emufarm_devices_wanted{{instance="{TROUBLED}"}}[{WINDOW}]'
        (found,) = prometheus.query(f"{function}({asked})")
        return str(found["value"][1])

    assert told("max_over_time") == DEVICES
    assert told("last_over_time") == "0"


def test_each_dashboard_is_drawn_from_its_answers(
    shown: dict[str, tuple[View, Answers]], tmp_path: Path
) -> None:
    """`make metrics-pictures` keeps the pictures, and writes the answers beside their queries."""
    kept = os.environ.get(KEEP)
    folder = PICTURES if kept else tmp_path
    for board, (view, answered) in shown.items():
        picture = folder / f"{board}.png"
        draw(board, view, answered, picture)
        assert picture.stat().st_size < MOST_BYTES
    if kept:
        said = {
            (board, panel.title): in_words(panel, shown[board][1][panel.title])
            for board in shown
            for panel in panels(board)
            if panel.targets
        }
        panels_document.write(lambda board, title: said[board, title])


def test_every_rule_is_evaluated_and_every_record_has_a_value(
    prometheus: Prometheus, interrupted: Interrupted
) -> None:
    assert {rule["health"] for rule in prometheus.rules()} == {"ok"}
    assert len(prometheus.rules()) == len(rules("record")) + len(rules("alert"))
    labels = {"namespace": set(), "instance": {"instance"}, "image": {"profile", "image"}}
    for rule in rules("record"):
        name = rule["record"]
        found = prometheus.query(f"last_over_time({name}[{WINDOW}])")
        assert found, name
        for sample in found:
            assert sample["metric"].keys() - {"__name__"} == labels[name.split(":")[0]], name
            assert math.isfinite(float(sample["value"][1])), name


def test_the_runbook_s_queries_are_answered(
    prometheus: Prometheus, shown: dict[str, tuple[View, Answers]]
) -> None:
    lines = (PICTURES.parent / "runbook.md").read_text().splitlines()
    asked = [line.strip() for line in lines if line.startswith("    ") and "emufarm_" in line]
    assert asked
    for query in asked:
        assert prometheus.query(query.replace("NAME", TROUBLED), shown["run"][0].end), query


def test_somebody_is_woken_when_one_attempt_in_five_is_lost_to_infrastructure(
    prometheus: Prometheus, trouble: Watched, interrupted: Interrupted
) -> None:
    lost = trouble.outcomes["infra_failed"]
    assert trouble.outcomes.total() >= 50
    assert 5 * lost >= trouble.outcomes.total()
    fired = alerts(prometheus, "firing")
    assert {"EmufarmRunLosesAttempts", "EmufarmInfraBurnsFast"} <= fired
    assert fired <= {
        "EmufarmRunLosesAttempts", "EmufarmInfraBurnsFast", "EmufarmInfraBurns",
        "EmufarmQuarantineGrows", "EmufarmDeviceStartsBurnFast",
    }  # fmt: skip
    # A coordinator that is away is waited for before anybody is woken.
    assert alerts(prometheus, "pending") == {"EmufarmCoordinatorDown"}


def test_nobody_is_woken_by_an_agent_that_fails_every_episode_and_crashes_in_half(
    farm: Farm, tmp_path: Path, bad_agent: Callable[[str], str], interrupted: Interrupted
) -> None:
    """Nor by a run whose name is a hostile text: Prometheus reads it as it is."""
    with Prometheus(tmp_path / "prometheus") as prometheus:
        run = quiet(Watch(farm, prometheus), bad_agent)
        assert run.code == 0, run.output
        assert run.outcomes == {"agent_failed": 26, "task_failed": 26}
        assert alerts(prometheus, "firing") == alerts(prometheus, "pending") == set()
        assert {rule["health"] for rule in prometheus.rules()} == {"ok"}
        (info,) = prometheus.query(f"last_over_time(emufarm_run_info[{WINDOW}])")
        assert info["metric"]["run"] == info["metric"]["instance"] == HOSTILE
        (seen,) = prometheus.query(f"sum(last_over_time(emufarm_attempts_total[{WINDOW}]))")
        assert float(seen["value"][1]) == 52


def test_no_counter_goes_down_where_a_coordinator_is_killed_and_resumed(
    prometheus: Prometheus, interrupted: Interrupted
) -> None:
    """That none is counted twice is seen in the sums, above."""
    assert 0 < interrupted.before < interrupted.watched.outcomes.total()
    (away,) = prometheus.query(f'min_over_time(up{{instance="{KILLED}"}}[{WINDOW}])')
    assert away["value"][1] == "0"
    never_went_down(prometheus, KILLED)


def test_a_second_run_on_a_port_is_refused_and_the_first_goes_on(interrupted: Interrupted) -> None:
    code, output = interrupted.refused
    assert code == 2, output
    assert "--metrics-port" in output
    assert "cannot be listened on" in output
    assert interrupted.watched.code == 0


def alerts(prometheus: Prometheus, state: str) -> set[str]:
    """Those of ours that were in this state at any time."""
    found = prometheus.query(f'count_over_time(ALERTS{{alertstate="{state}"}}[{WINDOW}])')
    return {each["metric"]["alertname"] for each in found} & ALERTS.keys()


def foretold_last(prometheus: Prometheus, run: Watched) -> float:
    """The last moment at which it was known how long the run would take."""
    query = f'emufarm_eta_seconds{{instance="{run.name}"}} > 0'
    found = prometheus.query_range(query, run.began, run.ended, 1)
    return max(float(moment) for each in found for moment, _ in each["values"])
