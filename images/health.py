"""The device image's HEALTHCHECK: checks that the phone is as ready as a worker needs it.

It asks the supervisor whether the emulator runs, and the phone, through the private adb server, for
the conditions of readiness. Exit 0, or 1 with the first condition that does not hold. It stands
beside start.py, which says the ports. Standard library only.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import sys
import time
import urllib.error
import urllib.request

from start import ADB_PORT, CONSOLE_PORT, CONTROL_PORT

SERIAL = f"emulator-{CONSOLE_PORT}"
WHOLE_S = 8.0  # less than the HEALTHCHECK's time-out
# Separates the answers, so that all questions take one round trip.
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
    """The condition that does not hold, in one line."""


def require_running(deadline: float) -> None:
    url = f"http://127.0.0.1:{CONTROL_PORT}/healthz"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy for loopback
    try:
        with opener.open(url, timeout=_left(deadline)):
            return
    except urllib.error.HTTPError as error:
        state = json.loads(error.read(4096)).get("state", error.code)
        raise Missing(f"the device is {state}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Missing(f"no supervisor answers: {str(error).strip()}") from error


def require_ready(deadline: float) -> None:
    script = f"; echo {MARK}; ".join(f"{question} 2>&1" for _, question, _ in QUESTIONS)
    answers = ask(script, deadline).split(MARK)
    answers += [""] * (len(QUESTIONS) - len(answers))
    for (name, _, wanted), answer in zip(QUESTIONS, answers, strict=True):
        if not re.fullmatch(wanted, answer.strip(), re.DOTALL):
            raise Missing(f"{name}: {answer.strip()[:200] or 'no answer'}")


def ask(script: str, deadline: float) -> str:
    """The merged output of a shell script, over one connection to the adb server."""
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
        why = _exactly(wire, int(_exactly(wire, 4), 16)) if status == b"FAIL" else status
        raise Missing(f"adb: {why.decode('utf-8', 'replace')}")


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
