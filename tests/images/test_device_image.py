"""Dockerfile.emulator on a real engine, built with the stand-in SDK and run as a fleet runs it."""

from __future__ import annotations

import json
import re
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.files import file_sha256
from orchestrator.image import build_context
from orchestrator.image.simphone import SdkZip
from orchestrator.pins.system_image import hash_system_image
from tests.images.conftest import PROFILE, DeviceBuild
from tests.images.engine import DEVICE, LABEL, docker, inspect, shared

pytestmark = pytest.mark.docker

READY_S = 60.0


@pytest.fixture
def container() -> Iterator[str]:
    name = "emufarm-test-device"
    docker("rm", "-f", name, check=False)
    yield name
    docker("rm", "-f", name, check=False)


def run(name: str, image: str, *options: str, words: tuple[str, ...] = ()) -> None:
    docker("run", "-d", "--name", name, "--label", LABEL, *options, image, *words)


def wait_ready(name: str) -> None:
    deadline, last = time.monotonic() + READY_S, ""
    while time.monotonic() < deadline:
        asked = docker("exec", name, "python3", "/opt/emufarm/health.py", check=False)
        if asked.returncode == 0:
            return
        last = asked.stdout + asked.stderr
        time.sleep(0.1)
    pytest.fail(f"not ready: {last} {docker('logs', name).stderr}")


def ended(name: str) -> tuple[int, str]:
    code = int(docker("wait", name, seconds=60).stdout)
    return code, docker("logs", name).stderr


def console(name: str, command: str) -> str:
    """Said to the emulator by its own adb, in its own namespace."""
    adb = ("/opt/android-sdk/platform-tools/adb", "-s", "emulator-5554", "emu")
    return docker("exec", name, *adb, *command.split()).stdout


def test_a_device_is_ready_and_may_write_nothing_but_its_own_place(
    device_image: str, container: str, token: Path
) -> None:
    run(container, device_image, *DEVICE, *shared(token))
    wait_ready(container)
    assert docker("exec", container, "id", "-u").stdout == "10001\n"
    for place in ("/opt/emufarm/avd/x", "/opt/android-sdk/x", "/run/emufarm/x", "/x"):
        assert docker("exec", container, "touch", place, check=False).returncode != 0
    adb = "/opt/android-sdk/platform-tools/adb -s emulator-5554 exec-out screencap -p | head -c 4"
    assert docker("exec", container, "sh", "-c", f"{adb} | tail -c 3").stdout == "PNG"


def test_sigterm_ends_it_before_the_engine_would_kill_it(
    device_image: str, container: str, token: Path
) -> None:
    run(container, device_image, *DEVICE, *shared(token))
    wait_ready(container)
    docker("stop", "--time", "5", container)
    state = inspect(container)["State"]
    assert state["ExitCode"] == 0
    assert not state["OOMKilled"]


def test_the_engine_hears_of_its_health(device_image: str, container: str, token: Path) -> None:
    quick = ("--health-interval", "1s")
    run(container, device_image, *DEVICE, *shared(token), *quick)
    deadline = time.monotonic() + READY_S
    while inspect(container)["State"]["Health"]["Status"] != "healthy":
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_the_image_says_what_it_is_made_of(
    device_image: str, device_build: DeviceBuild, tmp_path: Path
) -> None:
    labels = inspect(device_image)["Config"]["Labels"]
    parts = build_context.parts(PROFILE, device_build.standin)
    wanted = {
        "org.opencontainers.image.title": f"emufarm device {PROFILE.name}",
        "org.opencontainers.image.version": PROFILE.version,
        "org.opencontainers.image.revision": "test",
        "emufarm.version": device_build.arguments["VERSION"],
        "emufarm.profile": PROFILE.name,
        "emufarm.profile.digest": PROFILE.digest,
        "emufarm.sdk.digest": parts.digest,
    }
    assert wanted.items() <= labels.items()
    told = json.loads(cat(device_image, build_context.SYSTEM_IMAGE_FILE))
    with zipfile.ZipFile(device_build.standin.system_image.path) as archive:
        archive.extractall(tmp_path)
    assert told["relocatable_sha256"] == hash_system_image(tmp_path / "x86_64").relocatable_sha256


def cat(image: str, path: str) -> str:
    options = ("--rm", "--label", LABEL, "--network", "none", "--entrypoint", "cat")
    return docker("run", *options, image, path).stdout


def test_two_builds_have_the_same_sdk_and_system_image(
    device_image: str, device_build: DeviceBuild
) -> None:
    code, said = device_build.build("emufarm-test-device:again", "--no-cache")
    assert code == 0, said
    for path in (build_context.SYSTEM_IMAGE_FILE, build_context.SDK_FILE):
        assert cat(device_image, path) == cat("emufarm-test-device:again", path)


@pytest.mark.parametrize(
    ("argument", "value", "sentence"),
    [
        ("EMULATOR_SHA256", "0" * 64, "fetch: emulator: file:///build/images/sdk/emulator.zip has"),
        ("SYSTEM_IMAGE_SIZE", "7", "fetch: system image: .* is larger than the 7 bytes pinned"),
        ("PLATFORM_TOOLS_URL", "file:///build/none.zip", "fetch: platform tools: cannot fetch"),
        ("LICENCE", "some-licence", "comes under some-licence: read it, then build with"),
    ],
)
def test_what_is_not_as_pinned_is_never_built(
    device_build: DeviceBuild, argument: str, value: str, sentence: str
) -> None:
    tag = "emufarm-test-device:refused"
    code, said = device_build.build(tag, **{argument: value})
    assert code != 0
    told = [line for line in said.splitlines() if re.search(sentence, line)]
    assert [line for line in told if not line.startswith(("Step ", "The command "))]
    assert docker("image", "inspect", tag, check=False).returncode != 0


def test_a_tampered_zip_is_never_built(device_build: DeviceBuild, tmp_path: Path) -> None:
    zips = device_build.standin
    data = bytearray(zips.system_image.path.read_bytes())
    data[200] ^= 1
    (tmp_path / "system-image.zip").write_bytes(bytes(data))
    changed = replace(zips.system_image, path=tmp_path / "system-image.zip")
    tampered = DeviceBuild(replace(zips, system_image=changed))
    code, said = tampered.build("emufarm-test-device:tampered")
    assert code != 0
    assert f"has the sha256 {file_sha256(tmp_path / 'system-image.zip')}, pinned is" in said


def test_a_vendors_script_for_another_python_stops_no_build(
    device_build: DeviceBuild, tmp_path: Path
) -> None:
    zips, path = device_build.standin, tmp_path / "emulator.zip"
    path.write_bytes(zips.emulator.path.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("emulator/old.py", "print 'hello'\n")
    emulator = SdkZip(path, path.stat().st_size, file_sha256(path))
    code, said = DeviceBuild(replace(zips, emulator=emulator)).build("emufarm-test-device:old")
    assert code == 0, said


def test_a_device_that_needs_kvm_says_so_at_once(
    device_build: DeviceBuild, container: str, token: Path, tmp_path: Path
) -> None:
    code, said = device_build.build("emufarm-test-device:kvm", PROFILE_KVM="yes")
    assert code == 0, said
    run(container, "emufarm-test-device:kvm", *DEVICE, *shared(token))
    code, said = ended(container)
    assert code == 1
    assert "/dev/kvm is not found: VT disabled in BIOS or KVM kernel module not loaded" in said
    docker("rm", container)
    (tmp_path / "kvm").touch(0o600)
    mounted = ("-v", f"{tmp_path / 'kvm'}:/dev/kvm")
    run(container, "emufarm-test-device:kvm", *DEVICE, *shared(token), *mounted)
    code, said = ended(container)
    assert code == 1
    assert "ProbeKVM: This user doesn't have permissions to use KVM (/dev/kvm)" in said


def test_a_device_without_room_says_so_at_once(
    device_image: str, container: str, token: Path
) -> None:
    small = [word.replace("exec", "exec,size=1m") for word in DEVICE]
    run(container, device_image, *small, *shared(token))
    code, said = ended(container)
    assert code == 1
    assert "Not enough disk space to run AVD 'emufarm'" in said


def test_what_was_baked_is_what_a_committed_image_starts_from(
    device_image: str, container: str, token: Path
) -> None:
    run(container, device_image, "--network", "none", *shared(token), words=("--bake",))
    wait_ready(container)
    assert "OK" in console(container, "avd snapshot save clean")
    console(container, "kill")
    code, said = ended(container)
    assert code == 0, said
    assert json.loads(docker("logs", container).stdout.splitlines()[-1])["baked"]
    docker("commit", "--change", "CMD []", container, "emufarm-test-device:baked")
    docker("rm", container)
    run(container, "emufarm-test-device:baked", *DEVICE, *shared(token))
    wait_ready(container)
    assert "clean" in console(container, "avd snapshot get")
    log = docker("exec", container, "cat", "/var/emu/emulator.log").stdout
    assert "Successfully loaded snapshot 'clean'" in log
    locks = docker("exec", container, "sh", "-c", "ls /opt/emufarm/avd/emufarm.avd").stdout
    assert ".lock" not in locks


def test_an_end_before_the_snapshot_is_no_bake(
    device_image: str, container: str, token: Path
) -> None:
    run(container, device_image, "--network", "none", *shared(token), words=("--bake",))
    wait_ready(container)
    console(container, "kill")
    code, said = ended(container)
    assert code == 1
    assert "the emulator ended before the snapshot clean was saved" in said
