"""Expectations about the screen: its size, picture and elements."""

from __future__ import annotations

from ..phone import Device
from .expectation import CheckResult, Expectation, all_of, equal, eventually


def _display(device: Device) -> CheckResult:
    found = device.display()
    holds = found.width >= 320 and found.height >= 320 and 100 <= found.density <= 800
    return CheckResult(holds, f"{found.width}x{found.height} at {found.density}")


def _picture(device: Device) -> CheckResult:
    found, shot = device.display(), device.screen.capture()
    return equal((shot.width, shot.height), (found.width, found.height))


def _not_uniform(device: Device) -> CheckResult:
    def look() -> CheckResult:
        uniform = device.screen.capture().uniform()
        return CheckResult(not uniform, "one colour" if uniform else "a picture")

    return eventually(look, 10)


def _raw_picture(device: Device) -> CheckResult:
    data = device.adb_socket.exec_out("screencap -p")
    at = data.find(b"\x89PNG\r\n\x1a\n")  # a phone with two displays warns first
    return all_of(begins=(0 <= at < 2000, True), ends=(data.endswith(b"IEND\xaeB\x60\x82"), True))


def _dump(device: Device) -> CheckResult:
    reading = device.screen.tree()
    if reading.elements is None:
        return CheckResult(False, reading.warning or "no tree")
    shown, size = [e for e in reading.elements if not e.bounds.empty], device.display()
    outside = [
        element
        for element in shown
        if element.bounds.left < 0
        or element.bounds.top < 0
        or element.bounds.right > size.width
        or element.bounds.bottom > size.height
    ]
    named = [e for e in shown if e.text or e.description]
    text = f"{len(shown)} elements, {len(named)} named, {len(outside)} outside"
    return CheckResult(bool(named) and not outside, text)


def _dump_words(device: Device) -> CheckResult:
    result = device.adb_socket.shell("uiautomator dump /dev/tty", timeout=30)
    end = result.text.rpartition("</hierarchy>")[2]
    return equal(end, "UI hierchary dumped to: /dev/tty\n")


SCREENS = (
    Expectation("screen.size", "taps are in its pixels", "a phone's size and density", _display),
    Expectation("screen.picture", "agents see it", "a whole PNG of the screen's size", _picture),
    Expectation("screen.drawn", "a dead display is one colour", "a picture", _not_uniform),
    Expectation(
        "screen.exec-out", "people take screenshots this way", "the first and last bytes of a PNG",
        _raw_picture,
    ),
    Expectation(
        "screen.elements", "agents read it", "named elements, all on the screen", _dump
    ),
    Expectation(
        "screen.dump-words", "the document ends where this message begins",
        r"'UI hierchary dumped to: /dev/tty\n'", _dump_words,
    ),
)  # fmt: skip
