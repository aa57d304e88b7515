"""Whole runs on this machine that take minutes; `make e2e_local` runs them, in this order: those
that take longest are first, so that its processes end together."""

from __future__ import annotations

import json
import random
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import yaml

from orchestrator.coordinator.transitions import AttemptFenced, EpisodeDecided
from orchestrator.report.verify.run import verify_run
from tests.run.conftest import PATIENCE_S, Farm, ended
from tests.run.mutations import unnoticed

pytestmark = pytest.mark.e2e

PUBLIC, SMOKE = "cases/public", "cases/smoke"
CHANGES, KILLS = 300, 20
_chance = random.Random(4)
MOMENTS = [_chance.uniform(0.2, 8.0) for _ in range(KILLS)]


def test_the_same_seed_gives_the_same_run_on_one_phone_and_on_four_quiet_or_restless(
    farm: Farm,
) -> None:
    """Plan digest, outcomes and every oracle's result digest."""
    runs = {
        "one": ("--devices", "1"),
        "four": ("--devices", "4"),
        "one-restless": ("--devices", "1", "--noise", "3"),
        "four-restless": ("--devices", "4", "--noise", "8"),
    }
    place = ("run", PUBLIC, "--runs", str(farm.runs), "--seed", "11", "--run")
    with ThreadPoolExecutor(len(runs)) as threads:
        ends = [
            threads.submit(ended, farm.start(*place, name, *words)) for name, words in runs.items()
        ]
        for end in ends:
            code, output = end.result()
            assert code == 0, output
    assert len({farm.report(name)["plan_digest"] for name in runs}) == 1
    assert set(farm.outcomes("one").values()) == {"success"}
    for name in runs:
        assert farm.outcomes(name) == farm.outcomes("one")
        assert farm.digests(name) == farm.digests("one")


def test_a_public_run_proves_itself_and_every_change_to_it_is_found(farm: Farm) -> None:
    code, output = farm.run(PUBLIC, "--devices", "4")
    assert code == 0, output
    for command in ("audit", "verify"):
        code, output = ended(farm.start(command, str(farm.runs / "r")))
        assert code == 0, output
    copies = [farm.runs / copy / "r" for copy in ("one", "other")]
    for copy in copies:
        shutil.copytree(farm.runs / "r", copy)
    with ProcessPoolExecutor(len(copies), get_context("spawn")) as processes:
        found = [
            processes.submit(unnoticed, copy, CHANGES // len(copies), seed, verify_run)
            for seed, copy in enumerate(copies, 12)
        ]
        assert [one.result(PATIENCE_S) for one in found] == [[]] * len(copies)


def test_two_hundred_episodes_on_four_phones_leave_nothing_behind(farm: Farm) -> None:
    code, output = farm.run(SMOKE, "--devices", "4", "--repeats", "200", "--agent", "idle")
    assert code == 0, output
    assert len(farm.outcomes()) == 200
    assert farm.report()["infrastructure"]["attempts_failed"] == 0
    assert not [e for e in farm.events() if isinstance(e, AttemptFenced)]
    assert farm.processes() == []
    assert not list(Path(farm.env["TMPDIR"]).glob("emufarm-work-*/run-*"))
    assert not list((farm.runs / "r" / "staging").glob("*/sealed-*"))


def test_every_case_is_proven_by_its_controls(farm: Farm) -> None:
    words = ("cases", "check", PUBLIC, "--devices", "4", "--runs", str(farm.runs))
    code, output = ended(farm.start(*words))
    assert code == 0, output
    assert "cases are proven" in output


def test_a_random_agent_over_fifty_episodes_runs_clean(farm: Farm) -> None:
    words = ("--devices", "4", "--repeats", "6", "-k", "sms or file", "--agent", "random")
    code, output = farm.run(PUBLIC, *words)
    assert code == 0, output
    assert len(farm.outcomes()) >= 50
    assert farm.report()["infrastructure"]["attempts_failed"] == 0


def test_the_example_agent_runs_every_case(farm: Farm) -> None:
    process = farm.start(
        "run", PUBLIC, "--runs", str(farm.runs), "--run", "r", "--devices", "4",
        "--agent", "command:python3 examples/command_agent.py",
    )  # fmt: skip
    code, output = ended(process)
    assert code == 0, output
    assert "infra_failed" not in farm.outcomes().values()


def test_a_case_whose_near_miss_succeeds_is_called_broken(farm: Farm, tmp_path: Path) -> None:
    (source,) = Path(SMOKE).glob("*/case.yaml")
    case = yaml.safe_load(source.read_text())
    case["near_miss"] = case["solution"]
    folder = tmp_path / "cases" / case["id"]
    folder.mkdir(parents=True)
    (folder / "case.yaml").write_text(json.dumps(case))  # which is YAML too
    words = ("cases", "check", str(folder.parent), "--devices", "1", "--runs", str(farm.runs))
    code, output = ended(farm.start(*words))
    assert code == 1, output
    assert f"BROKEN {case['id']} benign, near_miss" in output


@pytest.mark.parametrize("moment", MOMENTS, ids="{:.1f}s".format)
def test_a_run_killed_at_any_moment_goes_on_with_nothing_lost_and_nothing_twice(
    farm: Farm, moment: float
) -> None:
    """It is resumed; one that was killed before it was a run is started again."""
    words = ("--devices", "2", "--repeats", "4", "--agent", "idle")
    process = farm.start("run", SMOKE, "--runs", str(farm.runs), "--run", "r", *words)
    time.sleep(moment)  # any moment is what is tested
    process.kill()
    process.communicate(timeout=30)
    if (farm.runs / "r" / "plan.json").exists():
        code, output = farm.resume("r", "--devices", "2")
    else:
        code, output = farm.run(SMOKE, *words)
    assert code == 0, output
    decided = [e.episode for e in farm.events() if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == 4
    assert set(farm.outcomes().values()) == {"task_failed"}
    assert verify_run(farm.runs / "r").problems == ()
