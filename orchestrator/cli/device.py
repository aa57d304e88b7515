"""`emufarm device check`: checks a phone against everything that the farm relies on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..device.check import CheckFinding, passed, run_check
from ..device.console import Console
from ..device.faults import DeviceFault
from ..device.phone import Device, console_port
from ..errors import UsageError
from . import device_image
from .exit_codes import Exit

app = typer.Typer(help="Ask a phone that adb reaches.", no_args_is_help=True)
app.command("bake")(device_image.bake)
app.command("prove")(device_image.prove)

WORDS = {True: "ok", False: "FAIL", None: "skip"}
DEFAULT_TOKEN = Path.home() / ".emulator_console_auth_token"


@app.command()
def check(
    serial: Annotated[str, typer.Option("-s", "--serial", help="As `adb devices` lists it.")],
    adb_port: Annotated[
        int, typer.Option(help="The adb server's port.", envvar="ANDROID_ADB_SERVER_PORT")
    ] = 5037,
    token: Annotated[
        Path | None, typer.Option(help=f"The console's token file [default: {DEFAULT_TOKEN}].")
    ] = None,
    destructive: Annotated[
        bool, typer.Option("--destructive", help="Also what changes the phone: snapshots, SMS.")
    ] = False,
    folder: Annotated[Path, typer.Option(help="Where findings and raw recordings go.")] = Path(
        "runs/device-check"
    ),
) -> None:
    """Check a phone against every expectation that the farm has of one.

    Prints each expectation with what the phone showed; exit 0 if all hold, 1 if one does not.

    Example: emufarm device check -s emulator-5554 --destructive
    """
    phone = Device(serial, adb_port, console=_console(serial, token))
    _must_be_listed(phone)
    try:
        findings = run_check(phone, destructive=destructive, folder=folder, on_finding=_show)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; choose --folder") from error
    failed = [finding for finding in findings if finding.holds is False]
    skipped = [finding for finding in findings if finding.holds is None]
    typer.echo(
        f"{len(findings) - len(failed) - len(skipped)} hold, {len(failed)} do not, "
        f"{len(skipped)} were not checked; recordings in {folder}"
    )
    if not passed(findings):
        raise typer.Exit(Exit.NO)


def _must_be_listed(phone: Device) -> None:
    """UsageError for an unknown phone; a phone in a bad state is for the check to report."""
    try:
        phone.adb_socket.state()
    except DeviceFault as fault:
        if fault.reason == "adb_server":
            raise UsageError(
                f"no adb server answers on port {phone.adb_socket.server_port}: "
                "`adb start-server` starts one, --adb-port names another"
            ) from fault
        if fault.reason == "device_not_found":
            raise UsageError(
                f"the adb server on port {phone.adb_socket.server_port} has no phone "
                f"{phone.serial!r}: `adb devices` lists those it has"
            ) from fault


def _console(serial: str, token: Path | None) -> Console | None:
    port = console_port(serial)
    path = token or DEFAULT_TOKEN
    if port is None:
        return None
    try:
        return Console(port, path.read_text(encoding="ascii").strip())
    except FileNotFoundError:
        if token is not None:
            raise UsageError(f"there is no console token in {token}") from None
        return None
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the console's token in {path}: {error}") from error


def _show(finding: CheckFinding) -> None:
    typer.echo(f"{WORDS[finding.holds]:<5}{finding.name}")
    if finding.holds is not True:
        typer.echo(f"     expected  {finding.expected}")
        typer.echo(f"     seen      {finding.seen}")
        typer.echo(f"     matters   {finding.why}")
