"""Expectations whose check changes the phone: settings, messages, installs, snapshots."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from ..faults import DeviceFault
from ..phone import Device
from ..providers import quoted
from .expectation import CheckResult, Expectation, all_of, collector, equal, eventually

_KEY = "emufarm_check"
_TAG = "emufarm-check"
_TEXT = 'it\'s "so", $x = 1'
CHANGES: list[Expectation] = []
expect = collector(CHANGES, destructive=True)
expect_with_console = collector(CHANGES, destructive=True, needs_console=True)


@expect("settings.round-trip", "setups write them", "what was put, then None")
def _settings(device: Device) -> CheckResult:
    device.settings.put("global", _KEY, _TEXT)
    stored = device.settings.get("global", _KEY)
    device.settings.delete("global", _KEY)
    return all_of(stored=(stored, _TEXT), deleted=(device.settings.get("global", _KEY), None))


@expect("properties.round-trip", "one of the reset's sentinels is a property", "True")
def _property(device: Device) -> CheckResult:
    nonce = secrets.token_hex(4)
    device.properties.set("debug.emufarm.check", nonce)
    return equal(device.properties.get("debug.emufarm.check") == nonce, True)


@expect_with_console(
    "sms.arrives",
    "only the console can deliver messages, the shell may not insert them",
    "the message in the inbox within 30 s",
)
def _message(device: Device) -> CheckResult:
    body = f"emufarm check {secrets.token_hex(4)}, with = and , in it"
    device.console.send_sms("5550123", body)

    def arrived() -> CheckResult:
        rows = device.providers.query(
            "content://sms/inbox", ["address", "body", "type"], where=f"body={quoted(body)}"
        )
        return equal([row["body"] for row in rows], [body])

    return eventually(arrived, 30)


@expect("install.garbage", "a refused install must not go unnoticed", "install refused")
def _garbage(device: Device) -> CheckResult:
    with tempfile.TemporaryDirectory() as folder:
        apk = Path(folder) / "garbage.apk"
        apk.write_bytes(b"this is no package")
        try:
            device.packages.install(apk, timeout=60)
        except DeviceFault as fault:
            return CheckResult(fault.reason == "install_refused", str(fault))
    return CheckResult(False, "it was installed")


@expect_with_console(
    "snapshot.missing",
    "otherwise a silent cold boot would follow",
    "KO: Snapshot load failure: snapshot doesn't exist",
)
def _no_snapshot(device: Device) -> CheckResult:
    try:
        device.console.load_snapshot("emufarm-none")
    except DeviceFault as fault:
        refusal = fault.text.splitlines()[-1]
        return equal(refusal, "KO: Snapshot load failure: snapshot doesn't exist")
    return CheckResult(False, "it was loaded")


@expect_with_console("snapshot.resumes", "the phone keeps its state after a refused load", "ready")
def _still_there(device: Device) -> CheckResult:
    readiness = device.wait_ready(30)
    return CheckResult(readiness.ready, "; ".join(readiness.missing) or "ready")


@expect_with_console(
    "snapshot.round-trip",
    "every attempt starts with it",
    "the saved boot_id, a new transport, no sentinel, a picture, no later setting",
)
def _round_trip(device: Device) -> CheckResult:
    before = device.clock.boot_id()
    device.snapshots.save(_TAG)
    device.settings.put("global", _KEY, "after the save")
    try:
        proof = device.snapshots.load(_TAG)
        return all_of(
            boot_id=(proof.boot_id == before, True),
            new_transport=(proof.new_transport != proof.old_transport, True),
            sentinels_gone=((proof.file_gone, proof.property_gone), (True, True)),
            frame=(proof.frame.uniform, False),
            setting=(device.settings.get("global", _KEY), None),
            loaded=(device.console.loaded_snapshot(), _TAG),
        )
    finally:
        device.console.delete_snapshot(_TAG)


@expect_with_console("snapshot.deleted", "undeleted snapshots fill the disk", "False")
def _deleted(device: Device) -> CheckResult:
    return equal(_TAG in {row.tag for row in device.console.snapshots()}, False)
