"""The device image's HEALTHCHECK: is the phone as ready as a worker wants it?

The supervisor says whether its emulator runs; the rest is asked of the phone through the private
adb server, as readiness asks it. Exit 0 or 1, with the first condition that is missing.
Standard library only.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import time
import urllib.error
import urllib.request

CONTROL_PORT, ADB_PORT, SERIAL = 5600, 5037, "emulator-5554"
WHOLE_S = 8.0  # less than the engine gives
# One round trip: each answer between two marks.
MARK = "emufarm-health"
QUESTIONS = (
    ("sys.boot_completed", "getprop sys.boot_completed", r"1"),
    ("init.svc.bootanim", "getprop init.svc.bootanim", r"stopped"),
    ("package service", "pm path android", r"package:.*"),
    ("input service", "service check input", r"Service input: found"),
    (
        "focus",
        "dumpsys window | grep -m 1 mCurrentFocus",
        r"mCurrentFocus=Window\{(?!.*Not Responding).*",
    ),
)


class Missing(Exception):
    """What the phone lacks, in one line."""


def require_running(deadline: float) -> None:
    url = f"http://127.0.0.1:{CONTROL_PORT}/healthz"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is on loopback
    try:
        with opener.open(url, timeout=_left(deadline)):
            return
    except urllib.error.HTTPError as error:
        state = json.loads(error.read(4096)).get("state", error.code)
        raise Missing(f"the device is {state}") from error
    except (OSError, ValueError) as error:
        raise Missing(f"no supervisor answers: {error}") from error


def require_ready(deadline: float) -> None:
    script = f"; echo {MARK}; ".join(f"{question} 2>&1" for _, question, _ in QUESTIONS)
    answers = ask(script, deadline).split(MARK)
    answers += [""] * (len(QUESTIONS) - len(answers))
    for (name, _, wanted), answer in zip(QUESTIONS, answers, strict=True):
        if not re.fullmatch(wanted, answer.strip(), re.DOTALL):
            raise Missing(f"{name}: {answer.strip()[:200] or 'no answer'}")


def ask(script: str, deadline: float) -> str:
    """A shell's merged output; the device is chosen and the shell opened on one connection."""
    try:
        with socket.create_connection(("127.0.0.1", ADB_PORT), _left(deadline)) as wire:
            for request in (f"host:transport:{SERIAL}", f"shell:{script}"):
                wire.settimeout(_left(deadline))
                wire.sendall(f"{len(request):04x}{request}".encode())
                _require_okay(wire)
            answer = b""
            while piece := wire.recv(65536):
                answer += piece
                wire.settimeout(_left(deadline))
    except OSError as error:
        raise Missing(f"adb: {error}") from error
    return answer.decode("utf-8", "replace")


def _require_okay(wire: socket.socket) -> None:
    if (status := _exactly(wire, 4)) != b"OKAY":
        told = _exactly(wire, int(_exactly(wire, 4), 16)) if status == b"FAIL" else status
        raise Missing(f"adb: {told.decode('utf-8', 'replace')}")


def _exactly(wire: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = wire.recv(count - len(data))
        if not piece:
            raise Missing("adb: the server hung up")
        data += piece
    return data


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise Missing(f"no answer within {WHOLE_S:g} s")
    return left


def main() -> int:
    deadline = time.monotonic() + WHOLE_S
    try:
        require_running(deadline)
        require_ready(deadline)
    except Missing as error:
        print(error)
        return 1
    print("ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
