"""The versions of the SDK's tools, or the reason why there is none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from orchestrator.fleet.local.process import exited_within
from orchestrator.pins.sdk_tools import find_tool, sdk_facts, tool_version

PATH = os.environ["PATH"]


def tool(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    """As Google's zips unpack; avdmanager knows no --version."""
    tool(tmp_path / "cmdline-tools/latest/bin/sdkmanager", "echo 12.0; echo warning >&2")
    tool(tmp_path / "cmdline-tools/latest/bin/avdmanager", "echo 'Error: no option' >&2; exit 1")
    tool(tmp_path / "cmdline-tools/9.0/bin/sdkmanager", "echo 9.0")
    tool(tmp_path / "emulator/emulator", "echo Android emulator version 35.6.11.0")
    tool(tmp_path / "platform-tools/adb", "exit 0")
    return tmp_path


@pytest.mark.parametrize("variable", ["ANDROID_SDK_ROOT", "ANDROID_HOME"])
def test_the_tools_of_the_named_sdk_are_asked(sdk: Path, variable: str) -> None:
    told = sdk_facts({variable: str(sdk), "PATH": PATH})
    assert told["root"] == str(sdk)
    assert told["sdkmanager"]["version"] == "12.0"
    assert told["emulator"]["version"] == "Android emulator version 35.6.11.0"


def test_a_tool_that_does_not_tell_is_unknown_in_its_own_words(sdk: Path) -> None:
    told = sdk_facts({"ANDROID_SDK_ROOT": str(sdk), "PATH": PATH})
    version = told["avdmanager"]["version"]
    assert version["value"] is None
    assert "ended with exit code 1 and printed: Error: no option" in version["why"]
    assert "ended with exit code 0 and printed: nothing" in told["adb"]["version"]["why"]


def test_a_tool_in_path_is_found_and_the_sdks_comes_first(sdk: Path, tmp_path: Path) -> None:
    stray = tool(tmp_path / "stray" / "emulator", "echo 1")
    path = {"PATH": str(stray.parent)}
    assert find_tool("emulator", path) == stray
    assert find_tool("emulator", {**path, "ANDROID_HOME": str(sdk)}) == sdk / "emulator/emulator"


def test_without_an_sdk_each_says_why(tmp_path: Path) -> None:
    told = sdk_facts({"PATH": str(tmp_path)})
    for name in ("sdkmanager", "avdmanager", "adb", "emulator"):
        assert told[name]["version"]["value"] is None
        assert f"there is no {name} in PATH, and no SDK is named" in told[name]["version"]["why"]


def test_a_tool_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    """Its child holds its output open, and would keep a reader of pipes."""
    hanging = tool(tmp_path / "hanging", f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    told = tool_version([str(hanging)], os.environ, 0.5)
    assert told["why"] == f"{hanging} did not answer within 0.5 s"
    with suppress(ProcessLookupError):  # gone already
        assert exited_within(int((tmp_path / "pid").read_text()), 10)
