"""Installed apps: lists, installs, starts, stops and clears them."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from pathlib import Path

from .adb import Adb
from .faults import PACKAGE_MISSING, DeviceFault
from .shell import Shell, succeeded


@dataclass(frozen=True)
class Version:
    name: str
    code: int


@dataclass(frozen=True)
class Installed:
    version: Version
    installer: str | None  # the package that installed it; None: part of the image


@dataclass(frozen=True)
class Launch:
    """The result of `am start -W`."""

    status: str
    activity: str | None
    total_ms: int | None


def parse_version(text: str, package: str) -> Version:
    if PACKAGE_MISSING.search(text):  # dumpsys reports it with exit code 0
        raise DeviceFault("package_missing", text.strip(), during=f"dumpsys package {package}")
    name = re.search(r"^\s*versionName=(.*?)\s*$", text, re.MULTILINE)
    code = re.search(r"^\s*versionCode=(\d+)", text, re.MULTILINE)
    if name is None or code is None:
        raise DeviceFault("bad_answer", f"no version of {package} in {text[:500]!r}")
    return Version(name[1], int(code[1]))


def parse_installed(text: str, package: str) -> Installed:
    """From `dumpsys package`; an updated system app appears twice, the version in use first."""
    version = parse_version(text, package)
    installer = re.search(r"^\s*installerPackageName=(\S+)\s*$", text, re.MULTILINE)
    name = installer[1] if installer else "null"
    return Installed(version, None if name == "null" else name)


def parse_package_lines(text: str) -> tuple[str, ...]:
    """The names from `pm list packages`, or the paths from `pm path`."""
    lines = text.splitlines()
    return tuple(line[8:].strip() for line in lines if line.startswith("package:"))


def parse_launch(text: str) -> Launch:
    """From `am start -W`, which reports an error as a line `Error: ...` with exit code 0."""
    error = re.search(r"^(?:Error|java\.lang\.\w+Exception): ?(.*)$", text, re.MULTILINE)
    status = re.search(r"^Status: (\S+)", text, re.MULTILINE)
    if error is not None or status is None:
        raise DeviceFault("command_failed", text.strip() or "no answer", during="am start")
    activity = re.search(r"^Activity: (\S+)", text, re.MULTILINE)
    total = re.search(r"^TotalTime: (\d+)", text, re.MULTILINE)
    return Launch(status[1], activity[1] if activity else None, int(total[1]) if total else None)


class Packages:
    def __init__(self, shell: Shell, adb: Adb) -> None:
        self._shell = shell
        self._adb = adb

    def names(self) -> frozenset[str]:
        names = parse_package_lines(self._shell.answer("pm", "list", "packages"))
        if not names:
            text = "a phone without any package"
            raise DeviceFault("bad_answer", text, during="pm list packages")
        return frozenset(names)

    def paths(self, package: str) -> tuple[str, ...]:
        """The paths of its APKs; empty if it is not installed."""
        result = self._shell.query("pm", "path", package)
        if result.exit_code != 1 or result.stdout or result.stderr:  # otherwise not installed
            succeeded(result)
        return parse_package_lines(result.text)

    def version(self, package: str) -> Version:
        return parse_version(self._shell.answer("dumpsys", "package", package), package)

    def start(self, component: str, *extra: str, timeout: float = 30.0) -> Launch:
        """Starts an activity (`package/.Activity`) and waits until it is drawn."""
        words = ("am", "start", "-W", "-n", component, *extra)
        result = self._shell.do(*words, timeout=timeout)
        return parse_launch(f"{result.text}\n{result.error_text}")

    def open(self, package: str, *, timeout: float = 30.0) -> Launch:
        """Starts the activity that the app's launcher icon would start."""
        return self.start(self.launcher(package), timeout=timeout)

    def launcher(self, package: str) -> str:
        words = ("cmd", "package", "resolve-activity", "--brief")
        category = ("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER")
        lines = self._shell.answer(*words, *category, package).split()
        if not lines or "/" not in lines[-1]:
            text = " ".join(lines) or "no answer"
            raise DeviceFault("package_missing", text, during=f"launcher of {package}")
        return lines[-1]

    def grant(self, package: str, permission: str) -> None:
        self._shell.do("pm", "grant", package, permission)

    def install(self, apk: Path, *, timeout: float = 180.0) -> None:
        """Pushes the APK and runs `pm install -r -t -g`; a refusal is a fault with its text."""
        target = f"/data/local/tmp/emufarm-{secrets.token_hex(4)}.apk"
        try:
            self._adb.push(apk, target, timeout=timeout)
            words = ("pm", "install", "-r", "-t", "-g", target)
            result = self._shell.run(*words, timeout=timeout)
        finally:
            self._shell.run("rm", "-f", target)
        if "Success" not in result.text.split():
            text = f"{result.text}\n{result.error_text}".strip() or f"exit {result.exit_code}"
            raise DeviceFault("install_refused", text, during=f"pm install {apk.name}")
