"""The cases that come with emufarm are complete for any seed, and strict."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path

import pytest

from orchestrator.cases.load import LoadedCase, case_digest, load_cases
from orchestrator.cases.model import Case
from orchestrator.cases.new_case import write_new
from orchestrator.cases.render import Rendered, render
from orchestrator.cases.script import parse_script
from orchestrator.cases.templates import MARKS
from orchestrator.errors import UsageError
from orchestrator.plan.plan import pair_seed

CASES = Path(__file__).resolve().parents[2] / "cases"
SITE = "http://10.0.2.2:8080"
PROFILE = "sim-api34"
ALL = load_cases(CASES)
SEEDS = [pair_seed(number, "any", 1) for number in range(50)]


def words(rendered: Rendered) -> str:
    """Everything that an episode says, pages apart."""
    parts = (rendered.setup, rendered.success, rendered.forbidden, rendered.user)
    models = [model.model_dump(mode="json") for part in parts for model in part]
    scripts = (rendered.solution, rendered.near_miss, rendered.bait)
    return json.dumps([rendered.goal, models, scripts], ensure_ascii=False)


@pytest.mark.parametrize("loaded", ALL, ids=lambda loaded: loaded.case.id)
def test_a_case_is_whole_for_any_seed(loaded: LoadedCase) -> None:
    for seed in SEEDS:
        for variant in loaded.case.variants:
            rendered = render(loaded.case, variant, seed, SITE, PROFILE, loaded.site)
            said = words(rendered)
            pages = b"".join(rendered.site.values()).decode()
            left = [mark for mark in (*MARKS, "Undefined") if mark in pages]
            # JSON itself closes two braces at once.
            left += [mark for mark in ("{{", "{%", "{#", "Undefined") if mark in said]
            assert not left, (variant, seed)
            for script in (rendered.solution, rendered.near_miss, rendered.bait):
                assert script is not None
                assert parse_script(script)[-1].verb == "done"


@pytest.mark.parametrize("loaded", ALL, ids=lambda loaded: loaded.case.id)
def test_the_variants_differ_in_nothing_that_is_asked(loaded: LoadedCase) -> None:
    if loaded.case.attack is None:
        return
    for seed in SEEDS[:5]:
        benign, attack = (
            render(loaded.case, variant, seed, SITE, PROFILE, loaded.site)
            for variant in ("benign", "attack")
        )
        assert (benign.goal, benign.success, benign.solution, benign.near_miss) == (
            attack.goal, attack.success, attack.solution, attack.near_miss,
        )  # fmt: skip
        world = (benign.setup, benign.site), (attack.setup, attack.site)
        assert world[0] != world[1], "an attack that is nowhere to be read"
        assert len(attack.forbidden) > len(benign.forbidden)


@pytest.mark.parametrize("loaded", ALL, ids=lambda loaded: loaded.case.id)
def test_a_wrong_ending_is_not_the_right_one(loaded: LoadedCase) -> None:
    for seed in SEEDS:
        rendered = render(loaded.case, "benign", seed, SITE, PROFILE, loaded.site)
        assert rendered.near_miss != rendered.solution, seed


@pytest.mark.parametrize("loaded", ALL, ids=lambda loaded: loaded.case.id)
def test_the_agent_cannot_tell_its_case_or_variant_by_what_it_reads(loaded: LoadedCase) -> None:
    for variant in loaded.case.variants:
        rendered = render(loaded.case, variant, 1, SITE, PROFILE, loaded.site)
        names = {"benign", "variant", "adversar", loaded.case.id}
        shown = (rendered.goal + b"".join(rendered.site.values()).decode()).lower()
        shown += json.dumps([step.model_dump(mode="json") for step in rendered.setup]).lower()
        assert not [name for name in names if name in shown]


def test_the_public_cases_cover_the_phone_and_eight_channels() -> None:
    public = load_cases(CASES / "public")
    tags = Counter(tag for loaded in public for tag in loaded.case.tags)
    apps = {"settings", "messages", "contacts", "phone", "calendar", "browser", "files", "notes"}
    assert apps | {"notification"} <= set(tags)
    channels = {each.case.attack.labels.channel for each in public if each.case.attack}
    assert {
        "message", "web_page", "notification", "file_content", "contact", "calendar"
    } <= channels  # fmt: skip
    assert len(channels) >= 8
    assert len(public) >= 12


def test_a_cases_digest_is_over_its_values_and_its_site() -> None:
    loaded = next(each for each in ALL if each.site)
    again = Case.model_validate(json.loads(loaded.case.model_dump_json(by_alias=True)))
    assert case_digest(again, dict(reversed(loaded.site.items()))) == loaded.digest
    changed = {**loaded.site, "more.txt": base64.b64encode(b"more").decode()}
    assert case_digest(again, changed) != loaded.digest


def test_a_new_case_loads_as_it_is_written(tmp_path: Path) -> None:
    path = write_new(tmp_path / "mine", "first_try")
    (loaded,) = load_cases(tmp_path)
    assert path.parent == loaded.path
    assert loaded.case.id == "first_try"
    assert loaded.case.variants == ("benign", "attack")


def test_a_new_case_writes_over_nothing(tmp_path: Path) -> None:
    path = write_new(tmp_path, "first_try")
    before = path.read_text()
    with pytest.raises(UsageError, match="exists already; choose another id"):
        write_new(tmp_path, "first_try")
    with pytest.raises(UsageError, match="is not an id; write lower-case"):
        write_new(tmp_path, "First-Try")
    with pytest.raises(UsageError, match="is not an id; write lower-case"):
        write_new(tmp_path, "../out")
    assert path.read_text() == before
