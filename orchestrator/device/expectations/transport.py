"""Expectations about adb's transport, on which every other expectation relies."""

from __future__ import annotations

import secrets
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..adb_socket import AdbSocket
from ..faults import DeviceFault
from ..phone import Device
from .expectation import CheckResult, Expectation, all_of, collector, equal

_SCRATCH = "/data/local/tmp/emufarm-check.bin"
_AWKWARD = 'it\'s a "test" $HOME `id` \\ * ; & | <a> %s\t#\nüñ 🙂'
TRANSPORT: list[Expectation] = []
expect = collector(TRANSPORT)


@expect("transport.state", "offline phones are listed too", "'device'")
def _state(device: Device) -> CheckResult:
    return equal(device.adb_socket.state(), "device")


@expect("transport.features", "exit codes need shell v2", "shell_v2 and cmd among them")
def _features(device: Device) -> CheckResult:
    features = device.adb_socket.features()
    return CheckResult({"shell_v2", "cmd"} <= features, ",".join(sorted(features)))


@expect(
    "transport.unknown-serial",
    "a lost phone is recognised by this message",
    "device 'emulator-1' not found",
)
def _unknown_serial(device: Device) -> CheckResult:
    try:
        AdbSocket("emulator-1", device.adb_socket.server_port).shell("true", timeout=5)
    except DeviceFault as fault:
        wanted = ("device_not_found", "device 'emulator-1' not found")
        return equal((fault.reason, fault.text), wanted)
    return CheckResult(False, "it answered")


@expect("shell.exit-codes", "verdicts rely on them", "0, 1, 42 and 127")
def _exit_codes(device: Device) -> CheckResult:
    lines = {"true": 0, "false": 1, "exit 42": 42, "emufarm-no-such-command": 127}
    return equal({line: device.adb_socket.shell(line).exit_code for line in lines}, lines)


@expect(
    "shell.unknown-command",
    "a missing program must not look like an empty answer",
    "`inaccessible or not found` on stderr, 127",
)
def _unknown_command(device: Device) -> CheckResult:
    result = device.adb_socket.shell("emufarm-no-such-command")
    wanted = "/system/bin/sh: emufarm-no-such-command: inaccessible or not found\n"
    return all_of(
        stdout=(result.text, ""), stderr=(result.error_text, wanted), exit=(result.exit_code, 127)
    )


@expect(
    "shell.stderr-apart",
    "errors with exit code 0 appear only on stderr",
    "stdout 'out', stderr 'err', exit 3",
)
def _stderr_apart(device: Device) -> CheckResult:
    result = device.adb_socket.shell("echo out; echo err >&2; exit 3")
    return equal((result.text, result.error_text, result.exit_code), ("out\n", "err\n", 3))


@expect("shell.stdin", "scripts and texts are sent this way", "cat returns it")
def _stdin(device: Device) -> CheckResult:
    data = secrets.token_bytes(300_000)
    return equal(device.adb_socket.shell("cat", stdin=data).stdout == data, True)


@expect("shell.quoting", "values may be any text", repr(_AWKWARD))
def _quoting(device: Device) -> CheckResult:
    return equal(device.shell.run("printf", "%s", _AWKWARD).text, _AWKWARD)


@expect("shell.one-liners", "setups use shell scripts", "as in any shell")
def _one_liners(device: Device) -> CheckResult:
    lines = {
        "echo a b | wc -w": "2",
        "false || echo or; true && echo and": "or\nand",
        "x=5; echo $((x + 1)) ${x}": "6 5",
        "cd /data/local/tmp && pwd": "/data/local/tmp",
        "echo one > /data/local/tmp/.emufarm-x; cat /data/local/tmp/.emufarm-x;"
        " rm /data/local/tmp/.emufarm-x": "one",
        "for i in 1 2; do echo $i; done": "1\n2",
    }
    return equal({line: device.adb_socket.shell(line).text.strip() for line in lines}, lines)


@expect("shell.parallel", "oracles query while the agent acts", "0 of 40 answers wrong")
def _parallel(device: Device) -> CheckResult:
    with ThreadPoolExecutor(20) as threads:
        answers = threads.map(lambda n: device.adb_socket.shell(f"echo {n}; exit {n}"), range(40))
        wrong = [n for n, a in enumerate(answers) if (a.text, a.exit_code) != (f"{n}\n", n)]
    return CheckResult(not wrong, f"{len(wrong)} of 40 answers wrong")


@expect(
    "shell.binary",
    "pictures and databases are read this way",
    "a random file of 1 MiB + 1 by shell and by exec, equal",
)
def _binary(device: Device) -> CheckResult:
    data = secrets.token_bytes(1_048_577)
    try:
        device.files.push(data, _SCRATCH)
        shell = device.adb_socket.shell(f"cat {_SCRATCH}").stdout
        return all_of(
            by_shell=(shell == data, True),
            by_exec=(device.adb_socket.exec_out(f"cat {_SCRATCH}") == data, True),
        )
    finally:
        device.files.remove(_SCRATCH)


@expect("sync.round-trip", "evidence is pulled", "8 MiB pushed and pulled, equal")
def _files(device: Device) -> CheckResult:
    data = secrets.token_bytes(8 * 1024 * 1024 + 3)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        try:
            device.files.push(data, _SCRATCH)
            device.files.pull(_SCRATCH, copy)
            return equal(copy.read_bytes() == data, True)
        finally:
            device.files.remove(_SCRATCH)


@expect(
    "sync.missing-file",
    "an absent file must not look like an empty one",
    "refused with `No such file or directory`",
)
def _missing_file(device: Device) -> CheckResult:
    with tempfile.TemporaryDirectory() as folder:
        try:
            device.files.pull("/data/local/tmp/emufarm-none", Path(folder) / "copy", timeout=10)
        except DeviceFault as fault:
            refused = fault.reason == "sync_refused" and "No such file" in fault.text
            return CheckResult(refused, f"{fault.reason}: {fault.text}")
    return CheckResult(False, "it was pulled")


@expect("files.digest", "hashes are compared across machines", "'d71667838fe221f5'")
def _digest(device: Device) -> CheckResult:
    try:
        device.files.push(b"emufarm", _SCRATCH)
        return equal(device.files.sha256(_SCRATCH)[:16], "d71667838fe221f5")
    finally:
        device.files.remove(_SCRATCH)
