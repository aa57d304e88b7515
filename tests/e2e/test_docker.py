"""The whole farm on a real engine; `make e2e-docker` runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.coordinator.transitions import (
    AttemptCommitted,
    AttemptLost,
    DeviceLost,
    EpisodeDecided,
    LeaseGranted,
)
from orchestrator.evidence import manifest
from orchestrator.pins.profile import load_profile
from tests.e2e.docked import PROFILE, Docked
from tests.e2e.thinker import Thinker
from tests.run.conftest import ended

pytestmark = pytest.mark.docker

PUBLIC, SMOKE = "cases/public", "cases/smoke"
# Enough episodes that every device is at one while another is lost.
BUSY = ("--devices", "2", "--repeats", "4", "--agent")


@pytest.fixture(autouse=True)
def _nothing_is_left(docked: Docked) -> Iterator[None]:
    before = docked.left()
    yield
    assert docked.left() == before


@pytest.fixture
def thinker(docked: Docked) -> Iterator[Thinker]:
    with Thinker(docked.gateway()).listening() as one:
        yield one


def test_a_baked_image_is_named_locked_and_verified(docked: Docked, baked: Path) -> None:
    lock = json.loads(baked.read_text())
    tag = lock["container"]["tag"]
    assert tag.endswith(f":{load_profile(PROFILE).version}-{lock['profile_digest'][:12]}")
    (id,) = docked.engine.listed("image", "inspect", "--format", "{{.Id}}", tag)
    assert id == lock["container"]["image"]
    code, output = docked.command("image", "verify", PROFILE)
    assert code == 0, output


@pytest.mark.usefixtures("baked")
def test_auto_takes_the_engine_and_says_so(docked: Docked) -> None:
    place = ("--runs", str(docked.farm.runs), "--run", "smoke", "--devices", "1")
    code, output = docked.command("run", SMOKE, "--backend", "auto", *place)
    assert code == 0, output
    assert "docker" in output.lower()
    assert set(docked.farm.outcomes("smoke").values()) == {"success"}
    assert backend(docked, "smoke") == "docker"


@pytest.mark.usefixtures("baked")
def test_the_public_cases_succeed_on_three_devices_and_the_run_proves_itself(
    docked: Docked,
) -> None:
    code, output = docked.run(PUBLIC, "--devices", "3", "--seed", "11", name="public")
    assert code == 0, output
    outcomes = docked.farm.outcomes("public")
    assert set(outcomes.values()) == {"success"}
    leases = [e for e in docked.farm.events("public") if isinstance(e, LeaseGranted)]
    assert {e.device.partition(".")[0] for e in leases} == {"slot-00", "slot-01", "slot-02"}
    docked.proves_itself("public")


@pytest.mark.usefixtures("baked")
def test_a_device_killed_in_mid_attempt_is_infrastructure_and_tried_on_another(
    docked: Docked,
    thinker: Thinker,
) -> None:
    process = docked.start(SMOKE, *BUSY, thinker.url, name="device")
    lease = docked.in_mid_attempt(process, "device", thinker)
    docked.engine.docker("kill", docked.container(lease.device, "device"))
    thinker.go()
    code, output = ended(process)
    assert code == 0, output
    was_tried_elsewhere(docked, "device", lease)
    lost = [e for e in docked.farm.events("device") if isinstance(e, DeviceLost)]
    assert lease.device in {e.device for e in lost}
    docked.proves_itself("device")


@pytest.mark.usefixtures("baked")
def test_a_worker_killed_in_mid_attempt_is_infrastructure_and_tried_on_another(
    docked: Docked,
    thinker: Thinker,
) -> None:
    process = docked.start(SMOKE, *BUSY, thinker.url, name="worker")
    lease = docked.in_mid_attempt(process, "worker", thinker)
    docked.engine.docker("kill", docked.container(lease.device, "worker"))
    thinker.go()
    code, output = ended(process)
    assert code == 0, output
    was_tried_elsewhere(docked, "worker", lease)
    docked.proves_itself("worker")


@pytest.mark.usefixtures("baked")
def test_an_emulator_out_of_memory_is_infrastructure_and_told_as_such(
    docked: Docked, thinker: Thinker
) -> None:
    process = docked.start(SMOKE, *BUSY, thinker.url, name="memory")
    lease = docked.in_mid_attempt(process, "memory", thinker)
    # Files in memory count as the container's: the kernel takes its largest process, the emulator.
    fill = "cat /dev/zero > /tmp/fill"
    docked.engine.docker(
        "exec", docked.container(lease.device, "device"), "sh", "-c", fill, check=False
    )
    thinker.go()
    code, output = ended(process)
    assert code == 0, output
    was_tried_elsewhere(docked, "memory", lease)
    told = [
        e.text
        for e in docked.farm.events("memory")
        if isinstance(e, DeviceLost) and e.device == lease.device
    ]
    assert any("OOM-killed" in text for text in told), told
    docked.proves_itself("memory")


@pytest.mark.usefixtures("baked")
def test_a_restarted_engine_ends_no_run_for_good(docked: Docked, thinker: Thinker) -> None:
    """It goes on, or ends incomplete and is resumed; nothing is lost and nothing is twice."""
    if not docked.engine.ours:
        pytest.skip("this engine is not ours to restart")
    process = docked.start(SMOKE, *BUSY, thinker.url, name="engine")
    docked.in_mid_attempt(process, "engine", thinker)
    docked.engine.restart()
    thinker.go()
    code, output = ended(process)
    assert code in (0, 20), output
    if code == 20:
        code, output = docked.farm.resume("engine", "--devices", "2")
        assert code == 0, output
    is_whole(docked, "engine")


@pytest.mark.usefixtures("baked")
def test_a_killed_command_leaves_a_run_that_is_resumed(docked: Docked, thinker: Thinker) -> None:
    process = docked.start(SMOKE, *BUSY, thinker.url, name="killed")
    docked.in_mid_attempt(process, "killed", thinker)
    process.kill()
    process.communicate(timeout=60)
    thinker.go()
    assert docked.left() != []  # nobody was there to remove it
    code, output = docked.farm.resume("killed", "--devices", "2")
    assert code == 0, output
    is_whole(docked, "killed")
    assert backend(docked, "killed") == "docker"


@pytest.mark.usefixtures("baked")
def test_clean_removes_what_a_killed_command_left(docked: Docked, thinker: Thinker) -> None:
    process = docked.start(SMOKE, *BUSY, thinker.url, name="abandoned")
    docked.in_mid_attempt(process, "abandoned", thinker)
    process.kill()
    process.communicate(timeout=60)
    code, output = docked.command("clean")
    assert code == 0, output
    assert docked.left() == []


@pytest.mark.usefixtures("baked")
def test_a_local_run_is_reproduced_on_docker_as_equal(docked: Docked) -> None:
    chosen = ("--seed", "5", "-k", "sms or file", "--devices", "2")
    code, output = docked.farm.run(PUBLIC, "--backend", "local", *chosen, name="here")
    assert code == 0, output
    place = str(docked.farm.runs / "here")
    code, output = docked.command(
        "reproduce", place, "--backend", "docker", "--devices", "2", "--json"
    )
    assert code == 0, output
    assert '"same": true' in output


def test_docker_without_an_engine_is_refused_with_what_starts_one(docked: Docked) -> None:
    nobody = docked.without_engine()
    code, output = nobody.run(SMOKE, "--backend", "docker", name="nobody")
    assert code == 2, output
    assert "dockerd" in output
    assert not (nobody.runs / "nobody").exists()


def test_auto_without_an_engine_runs_here_and_says_so(docked: Docked) -> None:
    code, output = docked.without_engine().run(
        SMOKE, "--backend", "auto", "--devices", "1", name="auto"
    )
    assert code == 0, output
    assert "local" in output
    assert backend(docked, "auto") == "local"


def was_tried_elsewhere(docked: Docked, name: str, lease: LeaseGranted) -> None:
    """The attempt that was hit is infrastructure's, the next one is another device's, and every
    bundle that was promised is there, whole."""
    events = docked.farm.events(name)
    ends = {
        e.attempt: e
        for e in events
        if isinstance(e, AttemptCommitted | AttemptLost) and e.episode == lease.episode
    }
    hit, next_one = ends[lease.attempt], ends[lease.attempt + 1]
    assert (str(hit.judgement.outcome), str(hit.judgement.blame)) == ("infra_failed", "infra")
    assert str(next_one.judgement.outcome) == "success"
    assert next_one.device != hit.device
    is_whole(docked, name)


def is_whole(docked: Docked, name: str) -> None:
    """Every episode decided once, and all evidence that the journal names is there."""
    events = docked.farm.events(name)
    decided = [e.episode for e in events if isinstance(e, EpisodeDecided)]
    assert len(decided) == len(set(decided)) == 4
    assert set(docked.farm.outcomes(name).values()) == {"success"}
    for event in events:
        if isinstance(event, AttemptCommitted):
            assert manifest.verify(docked.farm.runs / name / event.bundle) == []


def backend(docked: Docked, name: str) -> str:
    facts = json.loads((docked.farm.runs / name / "run_manifest.json").read_text())
    return str(facts["execution_mode"])
