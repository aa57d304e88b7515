"""Expectations about apps: starting, foreground, touch, text input, broadcasts."""

from __future__ import annotations

from ..faults import DeviceFault
from ..phone import Device
from .expectation import CheckResult, Expectation, equal, eventually

_SETTINGS = "com.android.settings"


def _open_settings(device: Device) -> CheckResult:
    """Leaves Settings in the foreground."""
    text = device.shell.do("am", "start", "-W", "-a", "android.settings.SETTINGS").text
    if "Status: ok" not in text.splitlines():
        return CheckResult(False, text.strip())
    return _reaches_foreground(device, _SETTINGS)


def _reaches_foreground(device: Device, package: str) -> CheckResult:
    return eventually(lambda: equal(device.foreground().package, package), 15)


def _go_home(device: Device) -> CheckResult:
    device.input.key("KEYCODE_HOME")
    return eventually(lambda: _differs(device, _SETTINGS), 15)


def _differs(device: Device, package: str) -> CheckResult:
    found = device.foreground().package
    return CheckResult(found not in (None, package), repr(found))


def _start(device: Device) -> CheckResult:
    device.input.key("KEYCODE_HOME")
    line = "am start -W -a android.settings.SETTINGS"
    text = device.adb_socket.shell(line).text
    heads = [each.partition(":")[0] for each in text.splitlines() if each]
    wanted = {"Starting", "Status", "Activity", "TotalTime", "WaitTime", "Complete"}
    lacking = wanted - set(heads)
    _go_home(device)
    return CheckResult(not lacking, f"without {sorted(lacking)}" if lacking else text.strip())


def _start_nothing(device: Device) -> CheckResult:
    try:
        device.packages.start(f"{_SETTINGS}/.EmufarmNone", timeout=15)
    except DeviceFault as fault:
        return CheckResult("does not exist" in fault.text, str(fault))
    return CheckResult(False, "it started")


def _foreground(device: Device) -> CheckResult:
    opened = _open_settings(device)
    if not opened.holds:
        return opened
    found = device.foreground()
    home = _go_home(device)
    focus = found.focus or ""
    return CheckResult(home.holds and _SETTINGS in focus, f"{focus}, then {home.text}")


def _tap(device: Device) -> CheckResult:
    """A tap on a visible row must change the screen."""
    opened = _open_settings(device)
    if not opened.holds:
        return opened
    tree = device.screen.tree()
    if tree.elements is None:
        return CheckResult(False, tree.warning or "no tree")
    texts = {element.text for element in tree.elements if element.text}
    height = device.display().height
    rows = [
        element
        for element in tree.elements
        if element.text and height * 0.3 < element.bounds.center[1] < height * 0.9
    ]
    if not rows:
        return CheckResult(False, f"no row to tap among {sorted(texts)}")
    device.input.tap(*rows[0].bounds.center)

    def changed() -> CheckResult:
        now = {each.text for each in device.screen.tree().elements or () if each.text}
        return CheckResult(
            bool(now) and now != texts, f"{rows[0].text!r} opened {len(now - texts)} texts"
        )

    seen = eventually(changed, 8)
    _go_home(device)
    return seen


def _silent(device: Device) -> CheckResult:
    result = device.adb_socket.shell("input keyevent KEYCODE_HOME")
    return equal((result.stdout, result.stderr, result.exit_code), (b"", b"", 0))


def _not_ascii(device: Device) -> CheckResult:
    result = device.adb_socket.shell("input text ü")
    output = result.text + result.error_text
    return CheckResult(
        "Exception occurred while executing 'text':" in output, output.strip()[:200] or "''"
    )


def _broadcast(device: Device) -> CheckResult:
    text = device.shell.do("am", "broadcast", "-a", "emufarm.none").text
    lines = text.strip().splitlines()
    holds = bool(lines) and lines[0].startswith("Broadcasting: Intent {")
    return CheckResult(holds and lines[-1] == "Broadcast completed: result=0", text.strip())


def _notifications(device: Device) -> CheckResult:
    return CheckResult(True, f"{len(device.notifications())} notifications")


APPS = (
    Expectation(
        "apps.start", "its output distinguishes a start from a failure",
        "Starting, Status, Activity, TotalTime, WaitTime, Complete", _start,
    ),
    Expectation(
        "apps.start-unknown", "am exits with 0 for some failures",
        "`does not exist`, a fault for us", _start_nothing,
    ),
    Expectation(
        "apps.foreground", "the foreground is traced at every step",
        "Settings in the foreground after its start, another app after Home", _foreground,
    ),
    Expectation(
        "input.tap", "agents tap what the screen shows", "a tap on a row changes the screen",
        _tap,
    ),
    Expectation(
        "input.silent", "an input that prints something has failed", "(b'', b'', 0)", _silent
    ),
    Expectation(
        "input.not-ascii", "such text needs the input method", "`Exception occurred`", _not_ascii
    ),
    Expectation(
        "apps.broadcast", "it completes even without a receiver",
        "Broadcasting: Intent {...}, Broadcast completed: result=0", _broadcast,
    ),
    Expectation("notifications.read", "oracles read them", "a list", _notifications),
)  # fmt: skip
