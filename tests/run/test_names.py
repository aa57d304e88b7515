"""A run is named by its name or by its folder, in every command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.run.conftest import Farm, a_farm, ended
from tests.run.test_road import SMOKE


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Farm:
    """With two runs of one plan."""
    made = a_farm(tmp_path_factory.mktemp("names"), tmp_path_factory)
    for name in ("one", "two"):
        code, output = made.run(SMOKE, "--devices", "1", name=name)
        assert code == 0, output
    return made


@pytest.mark.parametrize(
    "words",
    [
        ("report", "one"),
        ("audit", "one"),
        ("verify", "one"),
        ("export", "one", "--csv", "-"),
        ("resume", "one"),
        ("compare", "one", "two"),
        ("reproduce", "one", "--against", "two"),
        ("coordinator", "one"),
    ],
    ids=lambda words: words[0],
)
def test_a_name_and_a_folder_are_the_same_run(farm: Farm, words: tuple[str, ...]) -> None:
    command, *rest = words
    folders = [str(farm.runs / word) if word in ("one", "two") else word for word in rest]
    by_name = ended(farm.start(command, *rest, "--runs", str(farm.runs)))
    by_folder = ended(farm.start(command, *folders))
    assert by_name[0] == by_folder[0] == 0, by_name[1]
    assert without_port(by_name[1]) == without_port(by_folder[1])


def without_port(output: str) -> str:
    return re.sub(r"(http://127\.0\.0\.1):\d+", r"\1", output)


@pytest.mark.parametrize("command", ["report", "audit", "verify", "resume", "coordinator"])
def test_a_run_that_is_not_there_is_named(farm: Farm, command: str) -> None:
    code, output = ended(farm.start(command, "three", "--runs", str(farm.runs)))
    assert code == 2, output
    assert f"there is no run {farm.runs / 'three'}" in output
    assert "`emufarm runs pull three` brings one that is on a cluster" in output


def test_a_folder_of_the_same_name_that_is_no_run_does_not_hide_it(
    farm: Farm, tmp_path: Path
) -> None:
    """The commands run in the repository, which has a folder `docs`."""
    (farm.runs / "docs").symlink_to(farm.runs / "one")
    code, output = ended(farm.start("verify", "docs", "--runs", str(farm.runs)))
    assert code == 0, output
