"""Builds agents' images for the tests, and runs programs inside their containers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fleet.docker_trial import BASE_IMAGE, docker

ROOT = Path(__file__).parents[2]
LABEL = "emufarm.test=agents"
EXAMPLE = "emufarm-test-agent:example"
PATIENCE_S = 120.0

# Ways of an agent that a plain Python image can have; `ready` listens and remembers.
SLEEPS = "import time; time.sleep(1000)"
ENDS = "import sys; print('no tokens left'); sys.exit(3)"
EATS = "import time\ntime.sleep(0.2)\nheld = []\nwhile True: held.append(b'x' * (8 << 20))"

# Prints what becomes of a connection to each HOST PORT; also by the interface, past all routes.
TRY = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def tried(place, device):
    host, port = place.rsplit(":", 1)
    wire = socket.socket()
    wire.settimeout(5)
    try:
        if device:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        wire.connect((host, int(port)))
        return "reached"
    except OSError as error:
        return str(error)
ways = [(place, device) for place in sys.argv[1:] for device in ("", "eth0")]
with ThreadPoolExecutor(30) as threads:
    told = threads.map(lambda way: tried(*way), ways)
    print(json.dumps({" by ".join(filter(None, way)): how for way, how in zip(ways, told)}))
"""
LISTEN = """
import socket, sys, threading
servers = [socket.create_server(("127.0.0.1", int(port))) for port in sys.argv[1:]]
print("listening", flush=True)
threading.Event().wait()
"""
POST = """
import json, sys, urllib.request
for body in sys.argv[2:]:
    asked = urllib.request.Request(sys.argv[1], body.encode(), {"Content-Type": "application/json"})
    print(urllib.request.urlopen(asked, timeout=20).read().decode())
"""


def build(tag: str, program: str) -> str:
    """An image whose entry point is this Python code."""
    words = json.dumps(["python3", "-c", program])
    file = f"FROM {BASE_IMAGE}\nUSER 10001:10001\nENTRYPOINT {words}\n"
    docker("build", "--label", LABEL, "-t", tag, "-", text=file)
    return tag


def build_example() -> str:
    docker(
        "build", "--label", LABEL, "--build-arg", f"BASE_IMAGE={BASE_IMAGE}", "-t", EXAMPLE,
        str(ROOT / "examples" / "agent_image"),
    )  # fmt: skip
    return EXAMPLE


def sweep() -> None:
    """By their names: the engine removes what is below them itself."""
    rows = docker(
        "images", "--format", "{{.Repository}}:{{.Tag}} {{.ID}}", "--filter", f"label={LABEL}"
    )
    for row in rows.splitlines():
        name, id = row.split()
        docker("rmi", "-f", id if "<none>" in name else name, check=False)


def inside(container: str, program: str, *words: str) -> str:
    """What this Python code prints in there, with no more rights than the container's own."""
    return docker("exec", container, "python3", "-c", program, *words)


def reached(container: str, *places: str) -> dict[str, str]:
    """For each of the places whether a program in there reaches it, or how it was refused."""
    told: dict[str, str] = json.loads(inside(container, TRY, *places))
    return told


def inspected(name: str) -> Any:
    return json.loads(docker("inspect", name))[0]


def addresses(container: str) -> list[str]:
    networks = inspected(container)["NetworkSettings"]["Networks"].values()
    return [network["IPAddress"] for network in networks if network["IPAddress"]]
