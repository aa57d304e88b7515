"""A hostile agent: it tries every way out that it knows, and answers with what it found as JSON.

    hostile_agent.py RUNS PORT OTHER

RUNS is where the farm keeps its runs, PORT a port of loopback that may be let through, OTHER one
that is not. Standard library only.
"""

import ctypes
import json
import os
import signal
import socket
import sys
from pathlib import Path

SEIZE = 0x4206  # of ptrace
SLIRP4NETNS = ("10.0.2.2", "10.0.2.3")


def others() -> list[int]:
    """The processes that it sees and neither started nor is."""
    mine = {os.getpid(), 1}
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) not in mine]


def workers() -> list[int]:
    """By their command lines, which everybody may read."""
    found = []
    for pid in others():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if "--token-file" in words and "worker" in words:
            found.append(pid)
    return found


def environments() -> int:
    found = 0
    for pid in others():
        try:
            found += b"=" in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            continue
    return found


def plans(runs: str) -> list[str]:
    return [str(path) for path in Path(runs).glob("*/plan.json") if path.read_text()]


def reached(address: str, port: int) -> bool:
    with socket.socket() as wire:
        wire.settimeout(10)
        return wire.connect_ex((address, port)) == 0


def signalled() -> bool:
    """Whether a process above its own takes a signal; 0 does no harm."""
    try:
        parent = Path(f"/proc/{os.getppid()}/stat").read_text()
        above = int(parent.rpartition(")")[2].split()[1])
        os.kill(above, 0)
    except OSError:
        return False
    return above > 0


def traced(pids: list[int]) -> int:
    """Seized processes go on, and are let go at once."""
    ptrace = ctypes.CDLL(None).ptrace
    return sum(ptrace(SEIZE, pid, None, None) == 0 for pid in pids)


def tried(runs: str, port: int, other: int) -> dict[str, object]:
    ports = [*range(5037, 5038), *range(5554, 5700), *range(15554, 15700), port, other]
    return {
        "workers": len(workers()),
        "environments": environments() > 0,
        "plans": len(plans(runs)),
        "port": reached("127.0.0.1", port),
        "other": reached("127.0.0.1", other),
        # Only there are these addresses somebody's, and each answers or is refused at once.
        "past": [
            f"{host}:{each}"
            for host in SLIRP4NETNS
            for each in ports
            if os.getppid() == 1 and reached(host, each)
        ],
        "signalled": signalled(),
        "traced": traced([os.getppid()]) if os.getppid() > 1 else 0,
        "home": os.environ["HOME"] == os.getcwd() and os.access(".", os.W_OK),
        "script": probe(Path(__file__).parent),
    }


def probe(folder: Path) -> bool:
    try:
        (folder / ".hostile").write_text("")
        (folder / ".hostile").unlink()
    except OSError:
        return False
    return True


for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        answer: dict[str, object] = {"type": "ready"}
    elif said["step"] == 0:
        found = tried(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
        answer = {"action": "answer", "text": json.dumps(found)}
    else:
        if os.getppid() == 1:  # the first process of its own namespace, which it cannot end
            os.kill(1, signal.SIGKILL)
        answer = {"action": "done"}
    print(json.dumps(answer), flush=True)
