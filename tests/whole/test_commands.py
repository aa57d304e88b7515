"""The commands in README work as written; a command that cannot work says why at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.device.adb import adb_binary
from orchestrator.fleet.local import ports
from tests.whole.conftest import Phone

PATIENCE_S = 120


def emufarm(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orchestrator.cli", *words]
    return subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@dataclass(frozen=True)
class Shown:
    """An `emufarm sim` that has said how to reach its phone."""

    process: subprocess.Popen[str]
    said: str
    home: Path  # of the person, who has no adb of their own

    @property
    def folder(self) -> Path:
        found = re.search(r"PATH=(\S+)/device/bin", self.said)
        assert found, self.said
        return Path(found[1])

    def line(self, label: str) -> str:
        """The command that it printed under a label."""
        found = re.search(rf"^  {label} +(.*)$", self.said, re.MULTILINE)
        assert found, self.said
        return found[1]

    def typed(self, command: str) -> str:
        """What a person in another terminal sees, who typed the export line first."""
        done = subprocess.run(
            ["/bin/sh", "-c", f"{self.line('reach it')}\n{command}"],
            cwd=self.home,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.home)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done
        return done.stdout

    def rest(self) -> tuple[int, str]:
        """Its exit code, and all it said from now on."""
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Shown]:
    command = [sys.executable, "-m", "orchestrator.cli", "sim"]
    # These tests may themselves be run under nohup, whose word a child inherits.
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        signal.signal(signal.SIGHUP, before)
        try:
            assert process.stdout is not None
            said = ""
            while "Ctrl-C" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            yield Shown(process, said, tmp_path)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def test_the_printed_line_is_all_that_adb_needs_and_emu_kill_switches_off(shown: Shown) -> None:
    assert re.match(r"google/.*dev-keys$", shown.typed("adb shell getprop ro.build.fingerprint"))
    assert shown.typed("adb exec-out screencap -p | head -c 4 | tail -c 3") == "PNG"
    assert shown.typed("adb emu avd snapshot save clean").strip() == "OK"
    shown.typed("adb emu kill")
    code, said = shown.rest()
    assert (code, said) == (0, "the phone was switched off\n")
    assert not shown.folder.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_removes_what_it_wrote(shown: Shown, number: signal.Signals) -> None:
    shown.process.send_signal(number)
    assert shown.rest() == (0, "stopping\n")
    assert not shown.folder.exists()


def test_a_phone_that_cannot_boot_is_given_up_at_once_in_its_own_words() -> None:
    done = emufarm("sim", "--fault", "nonsense")
    assert done.returncode != 0
    assert "there is no fault 'nonsense'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_phone_that_adb_does_not_know_is_a_usage_error(phone: Phone) -> None:
    port = str(phone.running.adb_port)
    done = emufarm("device", "check", "-s", "emulator-9998", "--adb-port", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no phone 'emulator-9998'" in done.stderr


def test_a_port_without_an_adb_server_is_a_usage_error() -> None:
    claim = ports.claim()
    try:
        done = emufarm("device", "check", "-s", "emulator-9998", "--adb-port", str(claim.port))
    finally:
        claim.release()
    assert (done.returncode, done.stdout) == (2, "")
    assert "no adb server answers" in done.stderr


def test_the_adb_it_names_is_the_one_we_test_with(shown: Shown) -> None:
    assert f"Installed as {adb_binary()}" in shown.typed("adb version").splitlines()


def test_the_printed_lines_leave_the_persons_home_alone(shown: Shown) -> None:
    assert shown.typed('adb emu avd status && echo "$HOME"').split("\n") == [
        "virtual device is running",
        "OK",
        str(shown.home),
        "",
    ]
    assert list(shown.home.iterdir()) == []


def test_the_printed_check_names_this_phone_and_its_console(shown: Shown) -> None:
    *_, last = shown.typed(shown.line("check it")).splitlines()
    assert re.match(r"\d+ hold, 0 do not, 0 were not ", last), last
