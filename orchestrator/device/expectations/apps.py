"""Expectations about apps and the screen: starts, touch, text input, pictures, elements."""

from __future__ import annotations

from ..faults import DeviceFault
from ..phone import Device
from .expectation import CheckResult, Expectation, all_of, collector, equal, eventually

_SETTINGS = "com.android.settings"
APPS: list[Expectation] = []
expect = collector(APPS)


def _open_settings(device: Device) -> CheckResult:
    """Leaves Settings in the foreground."""
    text = device.shell.do("am", "start", "-W", "-a", "android.settings.SETTINGS").text
    if "Status: ok" not in text.splitlines():
        return CheckResult(False, text.strip())
    return eventually(lambda: equal(device.foreground().package, _SETTINGS), 15)


def _go_home(device: Device) -> CheckResult:
    device.input.key("KEYCODE_HOME")

    def left() -> CheckResult:
        found = device.foreground().package
        return CheckResult(found not in (None, _SETTINGS), repr(found))

    return eventually(left, 15)


@expect(
    "apps.start",
    "its output distinguishes a start from a failure",
    "Starting, Status, Activity, TotalTime, WaitTime, Complete",
)
def _start(device: Device) -> CheckResult:
    device.input.key("KEYCODE_HOME")
    text = device.adb_socket.shell("am start -W -a android.settings.SETTINGS").text
    heads = [each.partition(":")[0] for each in text.splitlines() if each]
    wanted = {"Starting", "Status", "Activity", "TotalTime", "WaitTime", "Complete"}
    lacking = wanted - set(heads)
    _go_home(device)
    return CheckResult(not lacking, f"without {sorted(lacking)}" if lacking else text.strip())


@expect(
    "apps.start-unknown", "am exits with 0 for some failures", "`does not exist`, a fault for us"
)
def _start_nothing(device: Device) -> CheckResult:
    try:
        device.packages.start(f"{_SETTINGS}/.EmufarmNone", timeout=15)
    except DeviceFault as fault:
        return CheckResult("does not exist" in fault.text, str(fault))
    return CheckResult(False, "it started")


@expect(
    "apps.foreground",
    "the foreground is traced at every step",
    "Settings in the foreground after its start, another app after Home",
)
def _foreground(device: Device) -> CheckResult:
    opened = _open_settings(device)
    if not opened.holds:
        return opened
    found = device.foreground()
    home = _go_home(device)
    focus = found.focus or ""
    return CheckResult(home.holds and _SETTINGS in focus, f"{focus}, then {home.text}")


@expect("input.tap", "agents tap what the screen shows", "a tap on a row changes the screen")
def _tap(device: Device) -> CheckResult:
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
        text = f"{rows[0].text!r} opened {len(now - texts)} texts"
        return CheckResult(bool(now) and now != texts, text)

    seen = eventually(changed, 8)
    _go_home(device)
    return seen


@expect("input.silent", "an input that prints something has failed", "(b'', b'', 0)")
def _silent(device: Device) -> CheckResult:
    result = device.adb_socket.shell("input keyevent KEYCODE_HOME")
    return equal((result.stdout, result.stderr, result.exit_code), (b"", b"", 0))


@expect("input.not-ascii", "such text needs the input method", "`Exception occurred`")
def _not_ascii(device: Device) -> CheckResult:
    result = device.adb_socket.shell("input text ü")
    output = result.text + result.error_text
    failed = "Exception occurred while executing 'text':" in output
    return CheckResult(failed, output.strip()[:200] or "''")


@expect(
    "apps.broadcast",
    "it completes even without a receiver",
    "Broadcasting: Intent {...}, Broadcast completed: result=0",
)
def _broadcast(device: Device) -> CheckResult:
    text = device.shell.do("am", "broadcast", "-a", "emufarm.none").text
    lines = text.strip().splitlines()
    holds = bool(lines) and lines[0].startswith("Broadcasting: Intent {")
    return CheckResult(holds and lines[-1] == "Broadcast completed: result=0", text.strip())


@expect("notifications.read", "oracles read them", "a list")
def _notifications(device: Device) -> CheckResult:
    return CheckResult(True, f"{len(device.notifications())} notifications")


@expect("screen.size", "taps are in its pixels", "a phone's size and density")
def _display(device: Device) -> CheckResult:
    found = device.display()
    holds = found.width >= 320 and found.height >= 320 and 100 <= found.density <= 800
    return CheckResult(holds, f"{found.width}x{found.height} at {found.density}")


@expect("screen.picture", "agents see it", "a whole PNG of the screen's size")
def _picture(device: Device) -> CheckResult:
    found, shot = device.display(), device.screen.capture()
    return equal((shot.width, shot.height), (found.width, found.height))


@expect("screen.drawn", "a dead display is one colour", "a picture")
def _not_uniform(device: Device) -> CheckResult:
    def look() -> CheckResult:
        uniform = device.screen.capture().uniform()
        return CheckResult(not uniform, "one colour" if uniform else "a picture")

    return eventually(look, 10)


@expect("screen.exec-out", "people take screenshots this way", "the first and last bytes of a PNG")
def _raw_picture(device: Device) -> CheckResult:
    data = device.adb_socket.exec_out("screencap -p")
    at = data.find(b"\x89PNG\r\n\x1a\n")  # a phone with two displays warns first
    return all_of(begins=(0 <= at < 2000, True), ends=(data.endswith(b"IEND\xaeB\x60\x82"), True))


@expect("screen.elements", "agents read it", "named elements, all on the screen")
def _dump(device: Device) -> CheckResult:
    reading = device.screen.tree()
    if reading.elements is None:
        return CheckResult(False, reading.warning or "no tree")
    shown, size = [e for e in reading.elements if not e.bounds.empty], device.display()
    outside = [
        at
        for at in (element.bounds for element in shown)
        if min(at.left, at.top) < 0 or at.right > size.width or at.bottom > size.height
    ]
    named = [e for e in shown if e.text or e.description]
    text = f"{len(shown)} elements, {len(named)} named, {len(outside)} outside"
    return CheckResult(bool(named) and not outside, text)


@expect(
    "screen.dump-words",
    "the document ends where this message begins",
    r"'UI hierchary dumped to: /dev/tty\n'",
)
def _dump_words(device: Device) -> CheckResult:
    result = device.adb_socket.shell("uiautomator dump /dev/tty", timeout=30)
    end = result.text.rpartition("</hierarchy>")[2]
    return equal(end, "UI hierchary dumped to: /dev/tty\n")
