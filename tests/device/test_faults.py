"""adb's messages are mapped to reasons, with any prefix."""

from __future__ import annotations

import pytest

from orchestrator.device.faults import REASONS, DeviceFault, adb_fault, classify
from orchestrator.errors import EmufarmError

SEEN = [
    ("adb: device offline", "device_offline", True),
    ("error: device offline", "device_offline", True),
    ("device offline (no transport)", "device_offline", True),
    ("device still connecting", "device_connecting", True),
    ("device still authorizing", "device_connecting", True),
    ("error: device unauthorized.", "device_unauthorized", False),
    (
        "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set",
        "device_unauthorized",
        False,
    ),
    ("device 'emulator-5554' not found", "device_not_found", True),
    ("adb: device 'emulator-5554' not found", "device_not_found", True),
    ("adb: no devices/emulators found", "device_not_found", True),
    ("error: more than one device/emulator", "ambiguous_device", False),
    ("error: closed", "transport_closed", True),
    ("closed", "transport_closed", True),
    ("protocol fault (couldn't read status): Connection reset by peer", "transport_closed", True),
    ("error: protocol fault (couldn't read status)", "transport_closed", True),
    ("cannot connect to daemon at tcp:5037: Connection refused", "adb_server", True),
    ("error: cannot connect to daemon", "adb_server", True),
    ("a door that opened in closed rooms", "adb_refused", False),
    ("", "adb_refused", False),
]


@pytest.mark.parametrize(("text", "reason", "transient"), SEEN)
def test_adbs_words_have_a_reason(text: str, reason: str, transient: bool) -> None:
    fault = adb_fault(text, during="a test")
    assert classify(text) == reason
    assert fault.reason == reason
    assert fault.transient is transient
    assert fault.text == text


def test_a_fault_is_one_sentence_of_ours() -> None:
    fault = DeviceFault("provider_error", "first line\nsecond line", during="content query")
    assert isinstance(fault, EmufarmError)
    assert str(fault) == "provider error during content query: first line second line"


def test_the_list_of_reasons_is_closed() -> None:
    assert "provider_error" in REASONS
    with pytest.raises(AssertionError):
        DeviceFault("something else", "text")
