"""Expectations about Android's services: boot, properties, settings, providers, packages, time."""

from __future__ import annotations

import re

from ..faults import DeviceFault
from ..phone import Device
from ..system_state import (
    parse_appop,
    parse_bluetooth,
    parse_call,
    parse_default_network,
    parse_location,
)
from .expectation import CheckResult, Expectation, all_of, collector, equal, eventually

_NONE = "emufarm.none"
FRAMEWORK: list[Expectation] = []
expect = collector(FRAMEWORK)


@expect("boot.ready", "sys.boot_completed is set too early", "nothing is missing")
def _ready(device: Device) -> CheckResult:
    lacking = device.missing()
    return CheckResult(not lacking, "; ".join(lacking) or "nothing is missing")


@expect(
    "boot.identity",
    "boot_id distinguishes one boot from another",
    "the same boot_id twice, and an uptime that does not fall",
)
def _boot(device: Device) -> CheckResult:
    first, second = device.clock.boot_id(), device.clock.boot_id()
    earlier, later = device.clock.uptime(), device.clock.uptime()
    return CheckResult(first == second and later >= earlier > 0, f"{first}, up {earlier:.2f} s")


@expect(
    "identity.fingerprint",
    "results are recorded under it",
    "brand/product/device:release/id/number:type/keys, and a number for the API",
)
def _identity(device: Device) -> CheckResult:
    shape = r"[^/]+/[^/]+/[^/:]+:[^/]+/[^/]+/[^/:]+:\w+/[\w,-]+"
    fingerprint = device.properties.get("ro.build.fingerprint")
    level = device.properties.get("ro.build.version.sdk")
    holds = re.fullmatch(shape, fingerprint) is not None and level.isdecimal()
    return CheckResult(holds, f"{fingerprint}, API {level}")


@expect("properties.unset", "an unset property is empty, not an error", r"'\n'")
def _unset_property(device: Device) -> CheckResult:
    return equal(device.adb_socket.shell(f"getprop {_NONE}").text, "\n")


@expect("clock.runs", "frozen guest clocks have been seen", "it moves")
def _clock(device: Device) -> CheckResult:
    first = device.clock.now()
    seen = eventually(lambda: CheckResult(device.clock.now() > first, "it moves"), 5)
    return seen if seen.holds else CheckResult(False, f"it stands at {first}")


@expect("settings.missing", "a missing key prints `null`", r"known='1', missing='null\n'")
def _setting(device: Device) -> CheckResult:
    return all_of(
        known=(device.settings.get("global", "device_provisioned"), "1"),
        missing=(device.adb_socket.shell(f"settings get global {_NONE}").text, "null\n"),
    )


@expect("content.rows", "oracles read them", "one row: device_provisioned is 1")
def _rows(device: Device) -> CheckResult:
    where = "name='device_provisioned'"
    rows = device.providers.query("content://settings/global", ["name", "value"], where=where)
    return equal([dict(row) for row in rows], [{"name": "device_provisioned", "value": "1"}])


@expect("content.empty", "no rows has its own message", r"'No result found.\n'")
def _no_rows(device: Device) -> CheckResult:
    line = (
        "content query --uri content://settings/global --projection name:value"
        f" --where \"name='{_NONE}'\""
    )
    return equal(device.adb_socket.shell(line).text, "No result found.\n")


@expect(
    "content.error",
    "a provider's error must not look like no rows",
    "`Error while accessing provider:` on stderr, a provider_error for us",
)
def _provider_error(device: Device) -> CheckResult:
    try:
        device.providers.query(f"content://{_NONE}", ["a"])
    except DeviceFault as fault:
        named = f"Error while accessing provider:{_NONE}" in fault.text
        return CheckResult(fault.reason == "provider_error" and named, str(fault))
    return CheckResult(False, "it answered")


@expect("content.messages", "the SMS store is readable", "rows, or none")
def _messages(device: Device) -> CheckResult:
    rows = device.providers.query("content://sms", ["_id", "address", "date", "type", "body"])
    return CheckResult(True, f"{len(rows)} rows")


@expect("packages.list", "apps are found by name", "android and settings, a path, no path for none")
def _packages(device: Device) -> CheckResult:
    return all_of(
        names=({"android", "com.android.settings"} <= device.packages.names(), True),
        path=(bool(device.packages.paths("android")), True),
        missing=(device.packages.paths(_NONE), ()),
    )


@expect("packages.version", "app versions are recorded", "a name and a code")
def _version(device: Device) -> CheckResult:
    version = device.packages.version("com.android.settings")
    return CheckResult(version.code > 0 and bool(version.name), f"{version.name} ({version.code})")


@expect("packages.unknown", "dumpsys exits with 0 for it", "`Unable to find package:`, exit 0")
def _unknown_package(device: Device) -> CheckResult:
    result = device.adb_socket.shell(f"dumpsys package {_NONE}")
    return all_of(
        words=(f"Unable to find package: {_NONE}" in result.text, True),
        exit=(result.exit_code, 0),
    )


@expect(
    "services.missing",
    "after a crash of system_server every service is missing like this",
    "`Can't find service:`, exit code 0 of dumpsys and 20 of cmd",
)
def _missing_service(device: Device) -> CheckResult:
    dumpsys = device.adb_socket.shell(f"dumpsys {_NONE}")
    cmd = device.adb_socket.shell(f"cmd {_NONE}")
    return all_of(
        dumpsys=((dumpsys.text + dumpsys.error_text).strip(), f"Can't find service: {_NONE}"),
        dumpsys_exit=(dumpsys.exit_code, 0),
        cmd=((cmd.text + cmd.error_text).strip(), f"cmd: Can't find service: {_NONE}"),
        cmd_exit=(cmd.exit_code, 20),
    )


@expect("services.check", "readiness requires the input service", "found, and not found")
def _service_check(device: Device) -> CheckResult:
    found = device.adb_socket.shell("service check input").text
    none = device.adb_socket.shell(f"service check {_NONE}").text
    wanted = f"Service {_NONE}: not found\n"
    return all_of(input=(found, "Service input: found\n"), none=(none, wanted))


@expect(
    "services.status",
    "oracles read radios, calls, location and app operations",
    "each dump has the value, and there is no call",
)
def _status(device: Device) -> CheckResult:
    answer = device.shell.answer  # a dump without the line that its parser looks for is a fault
    bluetooth = parse_bluetooth(answer("dumpsys", "bluetooth_manager"))
    network = sorted(parse_default_network(answer("dumpsys", "connectivity")))
    call = parse_call(answer("dumpsys", "telephony.registry"))
    location = parse_location(answer("cmd", "location", "is-location-enabled"))
    op = "READ_CLIPBOARD"
    clipboard = parse_appop(answer("cmd", "appops", "get", "com.android.settings", op), op)
    text = f"bluetooth {bluetooth}, network {network}, {call=}, {location=}, {clipboard=}"
    return CheckResult(call == "idle", text)


@expect("root.su", "adb root would restart adbd", "su 0 is uid 0")
def _root(device: Device) -> CheckResult:
    user = device.shell.answer("id", "-u").strip()
    return all_of(
        root=(device.shell.answer("id", "-u", root=True).strip(), "0"),
        plain=(user in ("2000", "0"), True),
    )


@expect("sqlite.runs", "databases are also queried on the phone", r"'1|x|y\n'")
def _sqlite(device: Device) -> CheckResult:
    script = "create table t (a, b); insert into t values (1, 'x|y'); select a, b from t;"
    return equal(device.shell.answer("sqlite3", ":memory:", script, root=True), "1|x|y\n")


@expect("logcat.dump", "it is evidence", "lines with times, then an end")
def _logcat(device: Device) -> CheckResult:
    result = device.adb_socket.shell("logcat -d -t 20")
    lines = [line for line in result.text.splitlines() if not line.startswith("-----")]
    stamped = [line for line in lines if re.match(r"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ", line)]
    holds = result.ok and bool(stamped) and len(stamped) >= len(lines) / 2
    return CheckResult(holds, f"{len(stamped)} of {len(lines)} lines begin with a time")


@expect("processes.pidof", "a restart of system_server shows in its pid", "a number; 1 for none")
def _processes(device: Device) -> CheckResult:
    server = device.adb_socket.shell("pidof system_server")
    none = device.adb_socket.shell("pidof emufarm-none")
    pid, code = server.text.strip(), none.exit_code
    text = f"system_server is {pid}, none gives exit {code}"
    return CheckResult(pid.isdecimal() and code == 1, text)
