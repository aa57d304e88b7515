"""Faults of the emulator around the guest: adb's connection, and the process itself."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..adbd.handshake import Reception
from ..adbd.packets import Malformed
from .answers import changed
from .guest import EVENTS, event
from .order import FaultClass, FaultOrder

if TYPE_CHECKING:
    from ..phone import Phone

Change = Callable[[Any], Any]


def _turned_away(reception: Reception) -> Callable[[Phone, FaultOrder], Change]:
    def make(phone: Phone, order: FaultOrder) -> Change:
        def plant(value: Any) -> Any:
            if order.point == "adbd.accept":
                return reception
            phone.turn_away(reception)
            return value

        return plant

    return make


def _cut(phone: Phone, order: FaultOrder) -> Change:
    def plant(data: bytes) -> bytes:
        # When the first half is on its way.
        asyncio.get_running_loop().call_soon(phone.cut_adb)
        return data[: len(data) // 2]

    return plant


def _broken(name: str) -> str:
    raise Malformed("a planted fault")


def _garbled(answer: bytes) -> bytes:
    return b"\0\0\0\0" + answer[4:]


def _refused(name: str) -> str:
    raise ConnectionRefusedError("a planted fault")


def _hangs(phone: Phone, order: FaultOrder) -> None:
    # The one thread that answers everybody waits for nothing: only SIGKILL ends it.
    threading.Event().wait()


def _dies(number: signal.Signals) -> Callable[[Phone, FaultOrder], None]:
    def die(phone: Phone, order: FaultOrder) -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number is not signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(128 + number)  # the first process of a container outlives its own signals

    return die


def _ends(phone: Phone, order: FaultOrder) -> None:
    phone.adbd.drop_all()  # what runs now is not answered any more
    phone.quit(0)


MACHINE = (
    FaultClass(
        "adb-offline", EVENTS, "adb loses the phone, and is "
        "not answered when it connects again: `device offline`, until it connects once more",
        _turned_away(Reception.OFFLINE),
    ),
    FaultClass(
        "adb-unauthorized", EVENTS, "adb loses the phone, and "
        "its key is not known when it connects again: `device unauthorized.`, until it connects "
        "once more", _turned_away(Reception.UNAUTHORIZED),
    ),
    FaultClass(
        "adb-cut", ("shell.stdout",), "adb's connection is cut half-way through a command's "
        "output", _cut,
    ),
    FaultClass(
        "adb-broken", ("adbd.service",), "adb's connection breaks before a service has answered: "
        "`error: closed`", changed(_broken),
    ),
    FaultClass(
        "adb-protocol-fault", ("sync.stat",), "a push or pull is answered with what is no answer: "
        "`protocol fault: stat response has wrong message id`", changed(_garbled),
    ),
    FaultClass(
        "adb-closed", ("adbd.service",), "a service is refused: `error: closed`", changed(_refused),
    ),
    event("hung", "the process answers nobody and uses no CPU; only SIGKILL ends it", _hangs),
    event("exits-139", "the process dies of SIGSEGV", _dies(signal.SIGSEGV)),
    event("exits-137", "the process dies of SIGKILL", _dies(signal.SIGKILL)),
    event("exits-0", "the process stops in good order and exits 0", _ends),
)  # fmt: skip
