"""The output of system services is parsed for one value each; output without it is no answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.device.faults import DeviceFault
from orchestrator.device.files import app_of_path
from orchestrator.device.packages import parse_installed, parse_package_lines
from orchestrator.device.providers import provider_package
from orchestrator.device.shell import command_line, needs_root
from orchestrator.device.system_state import (
    CALL_STATES,
    parse_appop,
    parse_bluetooth,
    parse_call,
    parse_default_network,
    parse_location,
)

CONNECTIVITY = """NetworkProviders for:
  WifiNetworkFactory

Active default network: {active}

Current network preferences: {{}}

Current Networks:
  NetworkAgentInfo{{network{{100}}  handle{{432902426637}}  ni{{WIFI CONNECTED extra: }} Score(60) \
lp{{{{InterfaceName: wlan0 LinkAddresses: [ fe80::1/64 ] }}}} nc{{[ Transports: WIFI Capabilities: \
INTERNET&NOT_RESTRICTED&TRUSTED&VALIDATED ]}}  }}
  NetworkAgentInfo{{network{{101}}  handle{{437197393933}}  ni{{MOBILE[LTE] CONNECTED extra: epc}} \
nc{{[ Transports: CELLULAR|VPN Capabilities: MMS&INTERNET ]}}  }}
"""


@pytest.mark.parametrize(
    ("active", "over"),
    [("100", {"wifi"}), ("101", {"cellular", "vpn"}), ("none", set())],
)
def test_the_default_network_is_known_by_what_it_runs_over(active: str, over: set[str]) -> None:
    assert parse_default_network(CONNECTIVITY.format(active=active)) == over


def test_a_default_network_of_which_nothing_is_told_is_no_answer() -> None:
    with pytest.raises(DeviceFault, match="network 102"):
        parse_default_network(CONNECTIVITY.format(active="102"))


@pytest.mark.parametrize(
    ("state", "on"), [("ON", True), ("OFF", False), ("TURNING_ON", False), ("BLE_ON", False)]
)
def test_bluetooth_is_on_once_it_has_turned_on(state: str, on: bool) -> None:
    dump = f"Bluetooth Status\n  enabled: true\n  state: {state}\n  address: 3C:5A\n"
    assert parse_bluetooth(dump) is on


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("mCallState=0\n", "idle"),
        ("mCallState=1\n", "ringing"),
        ("mCallState=0\n    mRingingCallState=0\n  Phone Id=1\n    mCallState=2\n", "offhook"),
    ],
)
def test_of_two_lines_the_busiest_counts(lines: str, state: str) -> None:
    assert parse_call(f"last known state:\n  Phone Id=0\n    {lines}") == state


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("No operations.\nDefault mode: allow\n", "allow"),
        ("CAMERA: ignore\n", "ignore"),
        ("CAMERA: allow; time=+3h2m1s7ms ago; rejectTime=+5d ago\n", "allow"),
        ("Uid mode: CAMERA: ignore\nCAMERA: allow\n", "ignore"),
        ("Uid mode: CAMERA: default\nCAMERA: deny\n", "deny"),
        ("Uid mode: CAMERA: foreground\n", "foreground"),
        ("CAMERA: default\n", "default"),
    ],
)
def test_a_user_ids_mode_stands_before_the_packages_own(text: str, mode: str) -> None:
    assert parse_appop(text, "CAMERA") == mode


def test_another_operations_mode_is_no_answer() -> None:
    with pytest.raises(DeviceFault):
        parse_appop("RECORD_AUDIO: allow\nCAMERA_2: allow\n", "CAMERA")


@given(st.text())
def test_whatever_a_dump_says_it_is_an_answer_or_a_fault(text: str) -> None:
    def answer_or_none(parse: object, *more: str) -> object:
        try:
            return parse(text, *more)  # type: ignore[operator]
        except DeviceFault:
            return None

    assert answer_or_none(parse_bluetooth) in (True, False, None)
    assert answer_or_none(parse_location) in (True, False, None)
    assert answer_or_none(parse_call) in (*CALL_STATES, None)
    assert isinstance(answer_or_none(parse_default_network), frozenset | None)
    assert isinstance(answer_or_none(parse_appop, "CAMERA"), str | None)


INSTALLED = """Packages:
  Package [com.x] (1a2b):
    versionCode=7 minSdk=24 targetSdk=34
    versionName=1.2-beta 3
    installerPackageName={installer}
Hidden system packages:
  Package [com.x] (3c4d):
    versionCode=1 minSdk=24 targetSdk=34
    versionName=1.0
    installerPackageName=null
"""


@pytest.mark.parametrize(
    ("told", "installer"), [("com.android.vending", "com.android.vending"), ("null", None)]
)
def test_an_app_is_the_one_in_use_and_not_the_one_it_replaced(
    told: str, installer: str | None
) -> None:
    found = parse_installed(INSTALLED.format(installer=told), "com.x")
    assert (found.version.name, found.version.code) == ("1.2-beta 3", 7)
    assert found.installer == installer


def test_a_package_is_listed_by_its_whole_name() -> None:
    assert parse_package_lines("package:com.a.b\r\npackage:com.a\nnoise\n") == ("com.a.b", "com.a")


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("/data/data/com.x/databases/a.db", ("com.x",)),
        ("/data/user/0/com.x/a", ("com.x",)),
        ("/sdcard/Android/a", ()),
        ("/data/local/tmp/a", ()),
    ],
)
def test_an_apps_own_file_is_known_by_its_path(path: str, package: tuple[str, ...]) -> None:
    assert app_of_path(path) == package


def test_a_provider_nobody_knows_is_named_by_its_address() -> None:
    assert provider_package("content://sms/inbox") == "com.android.providers.telephony"
    assert provider_package("content://org.example/rows/1") == "content://org.example"


def test_a_command_for_root_is_known_as_one() -> None:
    assert needs_root(command_line(("id",), root=True))
    assert not needs_root(command_line(("su", "0id")))
    assert not needs_root(command_line(("id", "su 0 ")))
