"""A plan depends only on its cases and settings, and a changed plan is refused."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cases.load import LoadedCase, load_cases
from orchestrator.cases.model import Case
from orchestrator.errors import UsageError
from orchestrator.events.canonical import digest
from orchestrator.plan.plan import Plan, build, pair_seed
from orchestrator.plan.store import read_plan, write_plan
from orchestrator.settings import RunSettings

CASES = Path(__file__).resolve().parents[2] / "cases"
ALL = load_cases(CASES)


def made(cases: list[LoadedCase] | None = None, expression: str = "", **changes: Any) -> Plan:
    settings = replace(RunSettings(), **changes)
    chosen = ALL if cases is None else cases
    return build(chosen, settings, "sim-api34", "f" * 64, expression)


def test_any_order_of_files_gives_the_same_plan(tmp_path: Path) -> None:
    mixed = list(ALL)
    random.Random(7).shuffle(mixed)
    assert made(mixed).digest == made().digest
    for number, loaded in enumerate(mixed):
        shutil.copytree(loaded.path, tmp_path / f"{number:02d}" / loaded.case.id)
    assert made(load_cases(tmp_path)).digest == made().digest


def test_both_variants_of_a_case_share_a_seed_and_repeats_do_not() -> None:
    plan = made(repeats=3, seed=5)
    seeds: dict[tuple[str, int], set[int]] = {}
    for episode in plan.episodes:
        seeds.setdefault((episode.case, episode.repeat), set()).add(episode.seed)
    assert all(len(shared) == 1 for shared in seeds.values())
    assert len({min(shared) for shared in seeds.values()}) == len(seeds)
    first = plan.episodes[0]
    assert first.seed == pair_seed(5, first.case, first.repeat)


def test_a_cases_own_seed_wins() -> None:
    case = Case.model_validate({**ALL[0].case.model_dump(by_alias=True), "case_seed": 42})
    plan = made([replace(ALL[0], case=case)], repeats=2, seed=9)
    assert {episode.seed for episode in plan.episodes} == {42}


def test_the_pair_seed_stays_what_it_is() -> None:
    """A seed of last year must give last year's episodes."""
    assert pair_seed(0, "wifi_off", 1) == 9124943340942272654
    assert 0 <= pair_seed(2**70, "é", 10**6) < 2**63


def test_episodes_are_named_once_in_the_order_of_case_variant_repeat() -> None:
    plan = made(repeats=11)
    order = [(each.case, each.variant, each.repeat) for each in plan.episodes]
    assert order == sorted(order)
    assert len({each.id for each in plan.episodes}) == len(plan.episodes)
    assert plan.episodes[0].id == f"{order[0][0]}.{order[0][1]}.1"
    variants = sum(len(loaded.case.variants) for loaded in ALL)
    assert len(plan.episodes) == 11 * variants


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"repeats": 2}, {"agent": "idle"}, {"variants": ("benign",)}]
)
def test_whatever_decides_is_in_the_digest(change: dict[str, Any]) -> None:
    assert made(**change).digest != made().digest


def test_a_changed_case_changes_the_digest() -> None:
    other = Case.model_validate({**ALL[0].case.model_dump(by_alias=True), "goal": "Something else"})
    assert made([replace(ALL[0], case=other), *ALL[1:]]).digest != made().digest


def test_only_what_is_kept_is_planned() -> None:
    plan = made(expression="sms_reply and attack")
    assert [episode.id for episode in plan.episodes] == ["sms_reply.attack.1"]
    assert [case.id for case in plan.cases] == ["sms_reply"]
    with pytest.raises(UsageError, match="-k 'nothing_like_it' matches nothing; no id or tag"):
        made(expression="nothing_like_it")
    with pytest.raises(UsageError, match="ask for 1 or more"):
        made(repeats=0)


def test_a_plan_carries_its_cases_whole() -> None:
    plan = made()
    for loaded in ALL:
        planned = plan.case(loaded.case.id)
        assert Case.model_validate(planned.case) == loaded.case
        assert digest({"case": planned.case, "site": planned.site}) == planned.digest


def test_the_digest_is_over_every_field_of_every_record() -> None:
    plan = made(repeats=2)
    body = {"schema_version": 1, **asdict(plan)}
    assert plan.digest == digest(body)
    assert plan.as_json() == json.loads(json.dumps({**body, "digest": plan.digest}))


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    plan = made(repeats=2)
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_plan(tmp_path / "plan.json", made(expression="wifi"))
    return tmp_path / "plan.json"


def spoiled(file: Path, change: dict[str, Any], *, sealed: bool = False) -> None:
    body = json.loads(file.read_text()) | change
    if sealed:
        del body["digest"]
        body["digest"] = digest(body)
    file.write_text(json.dumps(body))


def test_a_changed_plan_is_refused(file: Path) -> None:
    spoiled(file, {"seed": 99})
    with pytest.raises(UsageError, match="was changed after it was written"):
        read_plan(file)


def test_what_was_put_beside_a_record_is_a_change(file: Path) -> None:
    episodes = json.loads(file.read_text())["episodes"]
    spoiled(file, {"episodes": [{**episodes[0], "note": "mine"}, *episodes[1:]]})
    with pytest.raises(UsageError, match="was changed after it was written"):
        read_plan(file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 99}, "schema version 99"),
        ({"seed": "x"}, "is not a plan: seed"),
        ({"seed": "5"}, "is not a plan"),
        ({"extra": 1}, "is not a plan"),
    ],
)
def test_another_shape_is_refused_though_its_digest_is_right(
    file: Path, change: dict[str, Any], said: str
) -> None:
    spoiled(file, change, sealed=True)
    with pytest.raises(UsageError, match=said):
        read_plan(file)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"a": NaN}', "[" * 100_000])
def test_what_is_no_plan_is_told_in_one_sentence(file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError, match=r"plan\.json is not (a plan|JSON)"):
        read_plan(file)


def test_a_missing_plan_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the plan"):
        read_plan(tmp_path / "plan.json")
