"""`emufarm worker`: the loop beside one device; started by a fleet, seldom by a person."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ..coordinator.client import CoordinatorAway, CoordinatorClient
from ..device.attach import attach
from ..device.faults import DeviceFault
from ..errors import UsageError
from ..pins.image_lock import read_lock
from ..pins.profile import load_profile
from ..settings import Limits
from ..worker.exit_codes import WorkerExit
from ..worker.loop import Worker
from ..worker.staging import held, send_sealed


def worker(
    coordinator: Annotated[str, typer.Option(help="Its base URL.")],
    token_file: Annotated[Path, typer.Option(help="Holds the workers' secret.")],
    device: Annotated[str, typer.Option(help="The device's name in this run.")],
    control_port: Annotated[int, typer.Option(help="The supervisor's port.")],
    control_token_file: Annotated[Path, typer.Option(help="Holds the supervisor's secret.")],
    staging: Annotated[Path, typer.Option(help="Where attempts are written and wait.")],
    lock: Annotated[Path, typer.Option(help="The image's lock.")],
    profile: Annotated[str, typer.Option(help="The image's profile.")],
    tied: Annotated[bool, typer.Option("--tied", help="End when stdin does.")] = False,
) -> None:
    """Run attempts on one device until every episode is decided.

    Example: emufarm worker --coordinator http://127.0.0.1:8000 --token-file t --device slot-00.1
    --control-port 9000 --control-token-file c --staging s --lock golden.lock.json
    --profile sim-api34
    """
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: _stop(stop, number, frame))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the run's to handle
    if tied:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    limits, name = Limits(), f"{device}-{os.getpid()}"
    with (
        held(staging),
        CoordinatorClient(coordinator, _secret(token_file), worker=name, device=device) as client,
    ):
        try:
            phone = attach(control_port, _secret(control_token_file), limits.boot_s, typer.echo)
        except DeviceFault as fault:
            send_sealed(client, staging)
            client.device_failed("provision", fault.reason, str(fault))
            sys.exit(WorkerExit.DEVICE_UNUSABLE)
        loop = Worker(
            client=client,
            device=phone,
            name=device,
            lock=read_lock(lock),
            profile=load_profile(profile),
            limits=limits,
            staging=staging,
            stop=stop,
        )
        try:
            sys.exit(loop.run())
        except CoordinatorAway:
            # There is nobody left whom this phone could serve, and perhaps nobody to end it.
            with suppress(DeviceFault):
                phone.console.kill()
            raise


def _secret(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"cannot read the secret in {path}: {error}") from error


def _stop(stop: threading.Event, number: int, frame: FrameType | None) -> None:
    stop.set()


def _end_with_stdin() -> None:
    """The parent holds the other end. With it the coordinator is gone: there is nobody to give a
    lease back to, and what is sealed waits in staging."""
    while os.read(0, 4096):
        pass
    os._exit(1)
