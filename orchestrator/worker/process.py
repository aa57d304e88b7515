"""Runs a worker process: attaches to its device and works until every episode is decided."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

from ..coordinator.client import CoordinatorAway, CoordinatorClient
from ..device.attach import attach
from ..device.faults import DeviceFault
from ..device.presence import DeviceGone
from ..events.notify import Notify
from ..files import read_secret
from ..outcome import Cause
from ..pins.image_lock import read_lock
from ..pins.profile import load_profile
from ..secrecy import hide_this_process
from .arguments import WorkerArguments, WorkerExit
from .loop import Worker
from .staging import lock_staging, send_sealed


def run_worker(arguments: WorkerArguments, notify: Notify) -> WorkerExit:
    """Handles this process's signals: SIGTERM asks the worker to leave, Ctrl-C is the run's.

    CoordinatorAway if the coordinator does not answer any more; the phone is switched off then.
    """
    hide_this_process()  # before it has a secret
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if arguments.tied:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    device, secret = arguments.device, read_secret(arguments.token_file)
    name = f"{device}-{os.getpid()}"
    with (
        lock_staging(arguments.staging),
        CoordinatorClient(
            arguments.coordinator, secret, worker=name, away_s=arguments.away_s
        ) as client,
    ):
        control = read_secret(arguments.control_token_file)
        try:
            phone = attach(arguments.control_port, control, arguments.boot_s, notify)
        except DeviceFault as fault:
            send_sealed(client, arguments.staging)
            client.device_failed("provision", fault.reason, Cause.START_TIMEOUT, str(fault))
            return WorkerExit.DEVICE_UNUSABLE
        loop = Worker(
            client=client,
            device=phone,
            name=device,
            lock=read_lock(arguments.lock),
            profile=load_profile(arguments.profile),
            boot_s=arguments.boot_s,
            staging=arguments.staging,
            stop=stop,
        )
        try:
            return loop.run()
        except CoordinatorAway:
            # The phone is of no use without a coordinator, and perhaps nothing else would end it.
            with suppress(DeviceFault, DeviceGone):
                phone.console.kill()
            raise


def _end_with_stdin() -> None:
    """The parent holds the other end. The coordinator is gone with it: no lease can be given back,
    and sealed bundles stay in staging."""
    while os.read(0, 4096):
        pass
    os._exit(1)
