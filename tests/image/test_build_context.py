"""A build's files, arguments and tag follow from the profile and the code only."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from orchestrator.errors import UsageError
from orchestrator.folders import ROOT
from orchestrator.image import build_context
from orchestrator.image.simphone import SdkZip, StandInSdk
from orchestrator.pins.profile import load_profile

SIM, PIXEL = load_profile("sim-api34"), load_profile("pixel-api34")
STANDIN = StandInSdk(
    *(SdkZip(ROOT / "LICENSE", 10 + number, str(number) * 64) for number in range(3)),
)


def args(name: str, **more: bool) -> dict[str, str]:
    profile = {"sim": SIM, "pixel": PIXEL}[name]
    parts = build_context.parts(profile, STANDIN)
    return build_context.build_args(
        profile, parts, base_image="b", revision="r", version="v", **more
    )


def asked(dockerfile: str) -> set[str]:
    return set(re.findall(r"^ARG (\w+)", (ROOT / dockerfile).read_text(), re.MULTILINE))


@pytest.mark.parametrize("name", ["sim", "pixel"])
def test_the_dockerfile_asks_for_exactly_what_it_is_given(name: str) -> None:
    assert set(args(name)) == asked(build_context.DOCKERFILE)


def test_the_workers_dockerfile_asks_for_exactly_what_it_is_given(tmp_path: Path) -> None:
    files = build_context.worker_context(tmp_path)
    given = build_context.worker_build_args(files, base_image="b", revision="r", version="v")
    assert set(given) == asked(build_context.WORKER_DOCKERFILE)


def test_a_stand_in_is_fetched_from_the_builds_own_context() -> None:
    given, files = args("sim"), build_context.context(STANDIN)
    place = given["EMULATOR_URL"].removeprefix("file:///build/")
    assert files[place] == STANDIN.emulator.path
    assert (given["EMULATOR_SIZE"], given["EMULATOR_SHA256"]) == ("10", "0" * 64)


def test_a_real_sdk_needs_its_licence_accepted_by_a_person() -> None:
    assert args("pixel")["LICENCE"] == "android-sdk-license"
    assert args("pixel")["ACCEPT_ANDROID_SDK_LICENSE"] == "no"
    assert args("pixel", accept_licence=True)["ACCEPT_ANDROID_SDK_LICENSE"] == "yes"
    assert args("sim")["LICENCE"] == ""


def test_a_pin_that_is_not_known_is_left_empty() -> None:
    given = args("pixel")
    assert given["EMULATOR_SIZE"] == given["EMULATOR_SHA1"] == ""
    assert given["PLATFORM_TOOLS_SHA1"] == "477254aa5f903c15cf51001717bdf347fb6b53e0"
    assert given["PROFILE_KVM"] == "yes"


def test_a_tag_names_the_profiles_version_and_digest() -> None:
    assert build_context.tag(SIM) == f"emufarm-device-sim-api34:1-{SIM.digest[:12]}"


def test_another_sdk_has_another_digest_and_another_address_has_not() -> None:
    parts = build_context.parts(PIXEL)
    moved = parts.emulator.model_copy(update={"url": "https://mirror.example/emulator.zip"})
    changed = parts.emulator.model_copy(update={"sha256": "0" * 64})
    tools, image = parts.platform_tools, parts.system_image
    assert build_context.SdkParts(moved, tools, image).digest == parts.digest
    assert build_context.SdkParts(changed, tools, image).digest != parts.digest


def test_a_profile_without_an_sdk_has_no_image() -> None:
    with pytest.raises(UsageError, match="names no sdk"):
        build_context.parts(SIM.model_copy(update={"sdk": None}))
    with pytest.raises(UsageError, match="is built with the stand-in SDK"):
        build_context.parts(SIM)


def test_equal_files_are_packed_to_equal_bytes_and_nothing_else_is_sent(tmp_path: Path) -> None:
    files = build_context.context(STANDIN)
    first, second = io.BytesIO(), io.BytesIO()
    build_context.pack(files, first)
    build_context.pack(dict(sorted(files.items(), reverse=True)), second)
    assert first.getvalue() == second.getvalue()
    first.seek(0)
    with tarfile.open(fileobj=first) as archive:
        assert archive.getnames() == sorted(files)
    assert not [name for name in files if "pycache" in name or name.startswith("cases/")]


def test_what_compose_imports_is_in_the_context(tmp_path: Path) -> None:
    """Unpacked alone, the hashing code can be imported with the standard library only."""
    archive = io.BytesIO()
    build_context.pack(build_context.context(), archive)
    archive.seek(0)
    with tarfile.open(fileobj=archive) as files:
        files.extractall(tmp_path, filter="data")
    command = [sys.executable, "-S", "-B", str(tmp_path / "images/compose.py")]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "usage: compose.py SDK INTO\n")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    files = {**build_context.context(), "LICENSE": tmp_path / "none"}
    with pytest.raises(UsageError, match="none is missing, and images are built with it"):
        build_context.pack(files, io.BytesIO())


def test_a_worker_image_is_named_by_what_it_is_made_of(tmp_path: Path) -> None:
    files = build_context.worker_context(tmp_path)
    assert "orchestrator/worker/loop.py" in files
    assert "images/sim-api34/profile.yaml" in files
    changed = {**files, "LICENSE": ROOT / "README.md"}
    assert build_context.worker_tag(files, "1") != build_context.worker_tag(changed, "1")
