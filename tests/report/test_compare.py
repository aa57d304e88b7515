"""Two runs are compared only on the episodes that both have, and unknown answers stay unknown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner, Result

from orchestrator.cli.compare import compare as command
from orchestrator.errors import UsageError
from orchestrator.outcome import Judgement
from orchestrator.plan.plan import Plan
from orchestrator.report.compare.comparison import Comparison, Wanted, compare
from orchestrator.report.compare.pairing import side
from orchestrator.report.compare.table import show
from tests.report.run_folders import (
    FAILED,
    INFRA,
    LEAKED,
    SUCCESS,
    UNKNOWN,
    Judgements,
    a_case,
    a_plan,
    write_run,
)

CASES = {"one": "canary", "two": "probe", "three": ""}
PLAN = a_plan(CASES)
ALL = Wanted()


def all_of(plan: Plan, judgement: Judgement = SUCCESS, **others: Judgement) -> Judgements:
    """Every episode's word; others by id, written with underscores."""
    found = {episode.id: [judgement] for episode in plan.episodes}
    return {**found, **{name.replace("__", "."): [word] for name, word in others.items()}}


def held(
    folder: Path, a: Judgements, b: Judgements, wanted: Wanted = ALL, plan: Plan = PLAN
) -> Comparison:
    one = write_run(folder / "a", plan, a)
    other = write_run(folder / "b", replace(plan, agent="other"), b)
    return compare(side(one), side(other), wanted)


def refused(one: Path, other: Path, wanted: Wanted = ALL) -> str:
    with pytest.raises(UsageError) as caught:
        compare(side(one), side(other), wanted)
    return str(caught.value)


def test_each_figure_is_of_its_own_episodes(tmp_path: Path) -> None:
    found = held(
        tmp_path,
        all_of(PLAN),
        all_of(PLAN, three__benign__1=FAILED, two__attack__1=LEAKED),
    )
    shares = {name: (each.a, each.b, each.conclusive) for name, each in found.figures.items()}
    assert shares == {
        "BSR": (1.0, 2 / 3, 3),
        "RSR_core": (1.0, 1.0, 1),
        "RSR_all": (1.0, 0.5, 2),
        "VR_core": (0.0, 0.0, 1),
        "VR_all": (0.0, 0.5, 2),
    }
    assert [(each.episode, each.figures, each.a, each.b) for each in found.discordant] == [
        ("three.benign.1", ("BSR",), "success", "task_failed"),
        ("two.attack.1", ("RSR_all", "VR_all"), "success", "success violates:leak"),
    ]


@pytest.mark.parametrize("unknown", [INFRA, UNKNOWN])
def test_infrastructure_makes_no_difference(tmp_path: Path, unknown: Judgement) -> None:
    found = held(tmp_path, all_of(PLAN), all_of(PLAN, one__benign__1=unknown))
    bsr = found.figures["BSR"]
    assert (bsr.difference, bsr.conclusive, bsr.unknown_in_a, bsr.unknown_in_b) == (0.0, 2, 0, 1)
    assert (bsr.lowest, bsr.highest) == (-1 / 3, 0.0)
    assert found.discordant == ()
    assert found.worse == ()


def test_a_seen_violation_decides_though_success_is_unknown(tmp_path: Path) -> None:
    seen = replace(UNKNOWN, violations=("leak",))
    found = held(tmp_path, all_of(PLAN), all_of(PLAN, one__attack__1=seen))
    assert found.figures["VR_core"].difference == 1.0
    assert found.figures["RSR_core"].difference == -1.0


def test_turned_round_the_runs_have_the_same_difference_turned_round(tmp_path: Path) -> None:
    plan = a_plan({f"case{n:02}": "canary" for n in range(40)}, repeats=3)
    worse = {
        episode.id: [FAILED if (int(episode.case[4:]) * episode.repeat) % 7 > 3 else SUCCESS]
        for episode in plan.episodes
    }
    one = side(write_run(tmp_path / "a", plan, all_of(plan)))
    other = side(write_run(tmp_path / "b", replace(plan, agent="other"), worse))
    there, back = compare(one, other, Wanted()), compare(other, one, Wanted())
    for name, found in there.figures.items():
        turned = back.figures[name]
        assert found.p == turned.p
        assert found.interval is not None
        assert turned.interval is not None
        assert (found.interval.low, found.interval.high) == pytest.approx(
            (-turned.interval.high, -turned.interval.low)
        )
    assert there.figures["BSR"].test == "permutation_over_cases"
    assert "BSR" in there.worse
    assert back.worse == ()


def test_more_violations_are_worse_and_fewer_are_not(tmp_path: Path) -> None:
    plan = a_plan({f"case{n}": "canary" for n in range(8)})
    leaks = {e.id: [LEAKED if e.variant == "attack" else SUCCESS] for e in plan.episodes}
    found = held(tmp_path, all_of(plan), leaks, plan=plan)
    assert found.worse == ("RSR_core", "RSR_all", "VR_core", "VR_all")
    turned = compare(found.b, found.a, Wanted())
    assert turned.worse == ()


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (a_plan({**CASES, "four": ""}), "only B has four.benign.1"),
        (a_plan({"one": "canary", "two": "probe"}), "only A has three.benign.1"),
        (a_plan(CASES, repeats=2), "only B has one.attack.2, one.benign.2, three.benign.2 and 2"),
        (a_plan(CASES, seed=1), "the seed differs in one.attack.1"),
        (
            replace(PLAN, cases=(a_case("one", "canary", "7"), *PLAN.cases[1:])),
            "the case differs in one.attack.1, one.benign.1",
        ),
        (replace(PLAN, profile_digest="7" * 64), "different profiles"),
    ],
)
def test_runs_that_were_asked_different_things_are_refused(
    tmp_path: Path, other: Plan, sentence: str
) -> None:
    one = write_run(tmp_path / "a", PLAN, all_of(PLAN))
    two = write_run(tmp_path / "b", other, all_of(other))
    assert sentence in refused(one, two)


def test_what_both_have_can_be_compared_and_the_rest_is_named(tmp_path: Path) -> None:
    more = replace(a_plan({**CASES, "four": ""}, repeats=2), agent="other")
    one = write_run(tmp_path / "a", PLAN, all_of(PLAN))
    two = write_run(tmp_path / "b", more, all_of(more))
    found = compare(side(one), side(two), Wanted(common=True))
    assert set(found.overlap.same) == {episode.id for episode in PLAN.episodes}
    assert found.figures["BSR"].test == "mcnemar_exact"  # one repeat is left
    assert "left out: only B has four.benign.1" in found.warnings[0]


def test_a_part_that_is_equal_can_be_chosen(tmp_path: Path) -> None:
    other = replace(PLAN, cases=(a_case("one", "canary", "7"), *PLAN.cases[1:]))
    one = write_run(tmp_path / "a", PLAN, all_of(PLAN))
    two = write_run(tmp_path / "b", other, all_of(other))
    found = compare(side(one), side(two), Wanted("tagged and benign and not one"))
    assert found.overlap.same == ("three.benign.1", "two.benign.1")
    assert found.overlap.differences == []
    assert "the case differs" in refused(one, two, Wanted("one or two"))
    assert "no selected episode in common" in refused(one, two, Wanted("four"))


def test_seeds_that_differ_are_never_paired(tmp_path: Path) -> None:
    other = a_plan(CASES, seed=1)
    one = write_run(tmp_path / "a", PLAN, all_of(PLAN))
    two = write_run(tmp_path / "b", other, all_of(other))
    assert "no selected episode in common" in refused(one, two, Wanted(common=True))


@pytest.mark.parametrize(
    ("image", "sentence"), [("2" * 64, "different images"), (None, "does not name the")]
)
def test_another_image_is_refused_unless_it_is_asked_for(
    tmp_path: Path, image: str | None, sentence: str
) -> None:
    one = write_run(tmp_path / "a", PLAN, all_of(PLAN))
    two = write_run(tmp_path / "b", PLAN, all_of(PLAN), image=image)
    assert sentence in refused(one, two)
    assert sentence in refused(one, two, Wanted(common=True))
    found = compare(side(one), side(two), Wanted(across_images=True))
    assert "the runs have different images" in found.warnings


def test_what_weakens_the_comparison_is_said_before_any_number(tmp_path: Path) -> None:
    one = write_run(tmp_path / "a", PLAN, all_of(PLAN), sealed=False)
    two = write_run(tmp_path / "b", PLAN, all_of(PLAN, one__benign__1=INFRA))
    found = compare(side(one), side(two), Wanted())
    with (tmp_path / "shown").open("w+") as file:
        show(found, Console(file=file, width=120))
        file.seek(0)
        lines = file.read().splitlines()
    complete, covered, agents = lines[:3]
    assert complete == "warning    A is not complete: its journal is not sealed"
    assert covered.startswith("warning    B is below the coverage gate: 80.0% of its episodes")
    assert agents == "warning    both runs have the agent reference"
    assert any(line.startswith("BSR") for line in lines)


def emufarm(*words: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(words))


def test_the_command_exits_0_whatever_the_difference_and_1_only_if_asked(tmp_path: Path) -> None:
    plan = a_plan({f"case{n}": "" for n in range(6)})
    good = str(write_run(tmp_path / "good", plan, all_of(plan)))
    bad = str(write_run(tmp_path / "bad", plan, all_of(plan, FAILED)))
    shown = emufarm(good, bad)
    assert shown.exit_code == 0
    assert "B is worse in BSR" in shown.stdout
    told = emufarm(good, bad, "--fail-if-worse", "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["figures"]["BSR"]["p"] == 2 / 2**6
    assert emufarm(bad, good, "--fail-if-worse").exit_code == 0


def test_the_command_refuses_and_shows_nothing(tmp_path: Path) -> None:
    plan = a_plan({"another": ""})
    one = str(write_run(tmp_path / "one", PLAN, all_of(PLAN)))
    other = str(write_run(tmp_path / "other", plan, all_of(plan)))
    for words, sentence in (((one, other), "the plans differ"), ((one, one), "are one run")):
        done = emufarm(*words)
        assert isinstance(done.exception, UsageError)  # exit 2
        assert sentence in str(done.exception)
        assert done.stdout == ""
