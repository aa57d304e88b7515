"""`emufarm sim`: a simulated phone for a person."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from ..errors import EmufarmError
from ..farm.simulated_phone import boot, simulated_phone, write_adb
from ..fleet.local.process import shell_exit_code
from ..folders import cache_folder
from ..image.simphone import simphone
from ..image.wheelhouse import wheelhouse
from .output import notify

app = typer.Typer(short_help="Boot a simulated phone, and keep it until Ctrl-C.")


@app.callback(invoke_without_command=True)
def sim(
    context: typer.Context,
    noise: Annotated[int | None, typer.Option(help="Seed of the phone's noise.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of boot ids and the like.")] = None,
    fault: Annotated[str, typer.Option(help="Plant a defect, by name.")] = "",
    port: Annotated[
        int | None, typer.Option(help="Console port, even; adb is the next one.")
    ] = None,
    adb_port: Annotated[int | None, typer.Option(help="Port of the private adb server.")] = None,
) -> None:
    """Boot a simulated phone, print how to reach it, and keep it until Ctrl-C.

    Example: emufarm sim --noise 7, then in another terminal the `export` line that it prints, and
    `adb shell`, `adb exec-out screencap -p > screen.png`, `adb emu avd snapshot save clean`.
    """
    if context.invoked_subcommand is not None:
        return
    _end_cleanly()
    with simulated_phone(
        noise=noise, seed=seed, fault=fault, port=port, adb_port=adb_port
    ) as running:
        device, _ = boot(running)
        facts = device.identity()
        console_token = running.home / ".emulator_console_auth_token"
        typer.echo(f"{running.serial} is up: Android API {facts.api_level}, simulated")
        typer.echo(f"  fingerprint  {facts.fingerprint}")
        typer.echo(
            f"  reach it     export ANDROID_ADB_SERVER_PORT={running.adb_port} "
            f"ANDROID_SERIAL={running.serial} PATH={quote(str(write_adb(running).parent))}:$PATH"
        )
        typer.echo(
            f"  check it     {_program()} device check -s {running.serial} "
            f"--adb-port {running.adb_port} --token {quote(str(console_token))}"
        )
        typer.echo(f"  console      127.0.0.1:{running.console_port}, token in {console_token}")
        typer.echo(f"  log          {running.log}")
        try:
            typer.echo("Ctrl-C ends it and removes everything it wrote.")
            code = running.wait()
        except KeyboardInterrupt:
            typer.echo("stopping")
            return
        if code != 0:
            raise EmufarmError(
                f"the phone ended by itself, exit code {shell_exit_code(code)}; it said:\n"
                f"{running.last_output() or '(nothing)'}"
            )
        typer.echo("the phone was switched off")


@app.command()
def sdk(
    out: Annotated[Path, typer.Option(help="Where the three zips go.")],
    wheels: Annotated[
        Path | None,
        typer.Option("--wheelhouse", help="The lock's wheels [default: downloaded, once]."),
    ] = None,
) -> None:
    """Pack the simulated phone as an SDK.

    Three zips in the vendor's layout, to the same bytes every time, for Dockerfile.emulator.
    Prints the path, size and sha256 of each zip as JSON.

    Example: emufarm sim sdk --out images/sdk
    """
    house = wheels or wheelhouse(cache_folder(), notify)
    made = asdict(simphone().pack_sdk(out, house))
    typer.echo(json.dumps(made, indent=2, sort_keys=True, default=str))


def _program() -> str:
    """This program, as it can be started from any folder."""
    program = Path(sys.argv[0])
    if program.name == "emufarm":
        return quote(str(program.absolute()))
    return f"{quote(sys.executable)} -m orchestrator.cli"


def _end_cleanly() -> None:
    """Every way to end it removes what it wrote, also in the background of a script."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # else nohup set it
        signal.signal(signal.SIGHUP, signal.default_int_handler)
