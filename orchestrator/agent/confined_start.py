"""Starts a confined agent: bubblewrap, its network through slirp4netns. A separate program.

    python confined_start.py SETTINGS COMMAND ...

SETTINGS is JSON: `bwrap` (its command line, up to what it runs), `slirp4netns` (its path),
`resolv_conf` (text) and `ports` (of this host's loopback, which the agent reaches on its own). The
exit code is the command's; 126 and a line on stderr where it could not be confined. It uses the
standard library only, because it is started by its path and must start quickly.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
NOT_CONFINED = 126
_LOOPBACK = "127.0.0.1"
# The host and the name server, as slirp4netns offers them. It forwards every port of the latter to
# the host's own name server, which may be on the host's loopback.
_OF_SLIRP4NETNS = ("10.0.2.2", "10.0.2.3")
_SIOCADDRT, _RTF_UP, _RTF_HOST, _RTF_REJECT = 0x890B, 0x1, 0x4, 0x200


# The first program in the agent's namespaces waits here for its network. bubblewrap's --block-fd
# would do, but nothing tells when it is reached, and until then both of them configure loopback.
_UP, _HELD = 8, 9  # a shell's redirections have one digit
_GATE = (
    "/bin/sh", "-c",
    f'echo >&{_UP}; read _ <&{_HELD} || exit 126; exec {_UP}>&- {_HELD}<&-; exec "$@"', "agent",
)  # fmt: skip


class NotConfinedNow(Exception):
    """Why the agent was not started."""


def main(settings: dict[str, Any], command: list[str]) -> int:
    ports = settings["ports"]
    up, go = _at_the_gate()  # before others take its numbers
    told, info = os.pipe()
    resolv = _pipe_with(settings["resolv_conf"].encode())
    words = ["--info-fd", info, "--ro-bind-data", resolv, "/etc/resolv.conf", "--", *_GATE]
    agent = subprocess.Popen(
        [*settings["bwrap"], *map(str, words), *command], pass_fds=(info, resolv, _UP, _HELD)
    )
    for end in (info, resolv, _UP, _HELD):
        os.close(end)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # the output must close when the agent ends
        os.dup2(nothing, stream)
    network = None
    try:
        pid = _first_process(told, up)
        network = _network(settings["slirp4netns"], pid)
        for port, listener in zip(ports, _prepared(pid, ports), strict=True):
            threading.Thread(target=_serve, args=(listener, port), daemon=True).start()
        os.write(go, b"\n")
        code = agent.wait()
        return code if code >= 0 else 128 - code
    except (NotConfinedNow, OSError) as error:
        agent.kill()
        print(f"the agent cannot be confined: {error}", file=sys.stderr)
        return NOT_CONFINED
    finally:
        if network is not None:
            network.kill()


def _pipe_with(data: bytes) -> int:
    reading, writing = os.pipe()
    with open(writing, "wb") as file:
        file.write(data)
    return reading


def _at_the_gate() -> tuple[int, int]:
    """Where the gate says that it is reached, and where it is told to open; its own ends get the
    numbers that it names."""
    low = (*os.pipe(), *os.pipe())
    up, reached, held, go = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HELD + 1) for end in low)
    for end in low:
        os.close(end)
    os.dup2(reached, _UP)
    os.dup2(held, _HELD)
    os.close(reached)
    os.close(held)
    return up, go


def _first_process(told: int, up: int) -> int:
    """Of the agent's namespaces, once it stands at the gate: bubblewrap has done its part then."""
    with open(told, "rb") as file:
        text = file.read()
    if not text or os.read(up, 1) != b"\n":
        raise NotConfinedNow("bubblewrap did not come to its end")
    return int(json.loads(text)["child-pid"])


def _network(slirp: str, pid: int) -> subprocess.Popen[bytes]:
    """Started, once the agent's namespace has its way out."""
    ready, done = os.pipe()
    said = os.memfd_create("slirp4netns")
    command = [slirp, "--configure", "--mtu=65520", "--disable-host-loopback"]
    command += ["--ready-fd", str(done), str(pid), "tap0"]
    network = subprocess.Popen(command, stderr=said, pass_fds=(done,))
    os.close(done)
    if os.read(ready, 1) != b"1":
        network.kill()
        text = os.pread(said, 1000, 0).decode("utf-8", "replace").strip()
        raise NotConfinedNow(f"slirp4netns: {' '.join(text.split())}")
    return network


def _prepared(pid: int, ports: list[int]) -> list[socket.socket]:
    """A listener for each port in the agent's network: a child enters it, makes them, hands them
    over and closes the addresses of slirp4netns itself."""
    ours, its = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            for name, kind in (("user", _CLONE_NEWUSER), ("net", _CLONE_NEWNET)):
                _enter(pid, name, kind)
            for address in _OF_SLIRP4NETNS:
                _reject(address)
            made = [socket.create_server((_LOOPBACK, port)) for port in ports]
            socket.send_fds(its, [b"1"], [each.fileno() for each in made])
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a forked child must not go on
            its.send(f"0its network: {error}".encode())
            os._exit(1)
    its.close()
    said, descriptors, _, _ = socket.recv_fds(ours, 1000, len(ports))
    os.waitpid(child, 0)
    if said[:1] != b"1":
        why = said[1:].decode("utf-8", "replace")
        raise NotConfinedNow(why or "its network could not be prepared")
    return [socket.socket(fileno=each) for each in descriptors]


def _enter(pid: int, name: str, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/{name}", "rb") as namespace:
        if libc.setns(namespace.fileno(), kind) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)


def _reject(address: str) -> None:
    """Adds a route by which nothing is sent there. The struct is the kernel's `rtentry`."""
    family = struct.pack("=H", socket.AF_INET)
    to = family + bytes(2) + socket.inet_aton(address) + bytes(8)
    flags = _RTF_UP | _RTF_HOST | _RTF_REJECT
    empty = family + bytes(14)
    route = struct.pack("@L16s16s16sHhLBB3hhPLLH", 0, to, empty, empty, flags, *[0] * 12)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire:
        fcntl.ioctl(wire, _SIOCADDRT, route)


def _serve(listener: socket.socket, port: int) -> None:
    """Connects whoever connects in there with the same port out here."""
    while True:
        inside, _ = listener.accept()
        try:
            outside = socket.create_connection((_LOOPBACK, port), 10)
        except OSError:
            inside.close()
            continue
        outside.settimeout(None)
        for pair in ((inside, outside), (outside, inside)):
            threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
