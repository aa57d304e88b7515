"""Installs, starts, restarts and ends a real Docker engine on a bare machine.

Where one answers already it is used, and left as it is. Ours has its own state and bridge, so it
may be restarted in mid-run. Nothing is pulled: bases are made by debootstrap, once, and kept with
the state; everything else goes with the engine. Started as a program it is one for a person.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

INSTALL_S, START_S, STOP_S, MAKE_S = 600.0, 60.0, 60.0, 900.0
STATE = Path(os.environ.get("EMUFARM_ENGINE_STATE", "/var/lib/emufarm-engine"))
# By the program that is looked for.
PACKAGES = {
    "dockerd": "docker.io", "docker": "docker.io", "iptables": "iptables", "ip": "iproute2",
    "debootstrap": "debootstrap",
}  # fmt: skip
BRIDGE, BRIDGE_ADDRESS, POOL = "emufarm0", "10.213.0.1/24", "base=10.214.0.0/16,size=24"
KEPT = "emufarm-base"  # the repository of what outlives the engine


@dataclass(frozen=True)
class Base:
    """An image that debootstrap makes."""

    name: str
    suite: str
    packages: str


BASE = Base(f"{KEPT}:bookworm", "bookworm", "ca-certificates,python3,python3-venv")
ADBD = Base(f"{KEPT}:trixie-adbd", "trixie", "adbd")  # Debian's own, for tests of the transport


class NoEngine(Exception):
    """This machine cannot run one, and why."""


def install(packages: Mapping[str, str] = PACKAGES) -> None:
    """What Debian has of it, by the programs that are looked for; nothing where it is there."""
    missing = sorted({package for program, package in packages.items() if not _program(program)})
    if not missing:
        return
    if os.getuid() != 0 or not _program("apt-get"):
        raise NoEngine(f"root and apt-get are needed to install {', '.join(missing)}")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    for command in (["apt-get", "update", "-qq"], install):
        _done(command, INSTALL_S, quiet)


class Engine:
    """One that answers; else ours, started on entry, ended on exit with all that runs in it.

    `soon`: bases that are made meanwhile, for whoever asks for them later.
    """

    def __init__(self, state: Path = STATE, soon: Collection[Base] = ()) -> None:
        self._state = state
        self._soon = soon
        self._making: dict[Base, Future[str]] = {}
        self._threads = ThreadPoolExecutor(thread_name_prefix="base")
        self._installing = threading.Lock()
        self._runtime: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._alone: int | None = None
        self.host = os.environ.get("DOCKER_HOST", "")

    def __enter__(self) -> Engine:
        if _program("docker") and self.answers():
            self._prepare()
            return self
        if os.getuid() != 0:
            raise NoEngine("no engine answers, and to start one needs root")
        install()
        self._hold()
        self._runtime = Path(tempfile.mkdtemp(prefix="emufarm-engine-"))
        self.host = f"unix://{self._runtime}/docker.sock"
        try:
            self.start()
            self._tidy()
            self._prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()
        if self._runtime is None:
            return
        if self._process is not None:
            self._tidy()
        self.stop()
        _done(["ip", "link", "delete", BRIDGE], 30, check=False)
        shutil.rmtree(self._runtime, ignore_errors=True)
        if self._alone is not None:
            os.close(self._alone)

    @property
    def ours(self) -> bool:
        """Whether it may be restarted, and all that is on it is the tests' own."""
        return self._runtime is not None

    @property
    def env(self) -> dict[str, str]:
        host = {"DOCKER_HOST": self.host} if self.host else {}
        return {**os.environ, **host, "EMUFARM_BASE_IMAGE": BASE.name}

    def start(self) -> None:
        assert self._runtime is not None
        self._make_bridge()
        log = self._runtime / "dockerd.log"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [
                    # Whoever kills the tests ends the engine too.
                    "setpriv", "--pdeathsig", "TERM", "--", _program("dockerd") or "dockerd",
                    "--data-root", str(self._state / "root"),
                    "--exec-root", str(self._runtime / "exec"),
                    "--pidfile", str(self._runtime / "pid"),
                    "--host", self.host,
                    "--bridge", BRIDGE, "--default-address-pool", POOL,
                ],
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + START_S
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(errors="replace")
                self.stop()
                raise NoEngine(f"dockerd does not answer: {said[-1000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """In order; killed where that takes too long."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_S)

    def restart(self) -> None:
        wait(self._making.values())
        self.stop()
        self.start()

    def answers(self) -> bool:
        """An engine that starts takes requests before it answers them."""
        try:
            return self.docker("version", check=False, seconds=10).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def docker(
        self, *words: str, check: bool = True, seconds: float = 120
    ) -> subprocess.CompletedProcess[str]:
        return _done(["docker", *words], seconds, self.env, check=check)

    def listed(self, *words: str) -> list[str]:
        """What `docker ... -q` and the like print, by line."""
        return self.docker(*words).stdout.split()

    def _prepare(self) -> None:
        """Until BASE is there; others are still being made."""
        for base in (BASE, *self._soon):
            self._making[base] = self._threads.submit(self._make, base)
        self.base(BASE)

    def base(self, base: Base) -> str:
        """Its name; made where the engine has none."""
        making = self._making.get(base)
        return making.result() if making else self._make(base)

    def _make(self, base: Base) -> str:
        if self.docker("image", "inspect", base.name, check=False).returncode == 0:
            return base.name
        with self._installing:
            install()
        with tempfile.TemporaryDirectory(prefix="emufarm-base-") as folder:
            _done(
                [
                    _program("debootstrap") or "debootstrap", "--variant=minbase",
                    f"--include={base.packages}", base.suite, folder,
                ],
                MAKE_S,
            )  # fmt: skip
            shutil.rmtree(Path(folder, "var/cache/apt"), ignore_errors=True)
            shutil.rmtree(Path(folder, "var/lib/apt/lists"), ignore_errors=True)
            tar = ["tar", "-C", folder, "-c", "."]
            with subprocess.Popen(tar, stdout=subprocess.PIPE) as archive:
                subprocess.run(
                    ["docker", "import", "-", base.name], stdin=archive.stdout, env=self.env,
                    capture_output=True, timeout=MAKE_S, check=True,
                )  # fmt: skip
            if archive.returncode != 0:
                raise NoEngine(f"{base.name} was not packed whole")
        return base.name

    def _hold(self) -> None:
        """One engine at a time has this state."""
        self._state.mkdir(parents=True, exist_ok=True)
        self._alone = os.open(self._state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        try:
            fcntl.flock(self._alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise NoEngine(f"another engine has {self._state}") from error

    def _make_bridge(self) -> None:
        """Another engine's docker0, and the addresses it gives there, are its own."""
        if _done(["ip", "link", "show", BRIDGE], 30, check=False).returncode != 0:
            _done(["ip", "link", "add", BRIDGE, "type", "bridge"], 30)
            _done(["ip", "address", "add", BRIDGE_ADDRESS, "dev", BRIDGE], 30)
            _done(["ip", "link", "set", BRIDGE, "up"], 30)

    def _tidy(self) -> None:
        """All that this session or a killed one left, but the bases."""
        if made := self.listed("ps", "--all", "--quiet"):
            self.docker("rm", "--force", "--volumes", *made)
        rows = self.listed("image", "ls", "--format", "{{.Repository}}:{{.Tag}}|{{.ID}}")
        named = (row.split("|") for row in rows if not row.startswith((f"{KEPT}:", "<none>")))
        # One that was pushed, and whose tag another has now, can only be named by its id.
        if made := sorted({id if name.endswith(":<none>") else name for name, id in named}):
            self.docker("image", "rm", "--force", *made)
        self.docker("system", "prune", "--volumes", "--force", seconds=300)


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _done(
    command: list[str], seconds: float, env: dict[str, str] | None = None, *, check: bool = True
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=seconds, check=False
    )
    if check and done.returncode != 0:
        raise NoEngine(
            f"{' '.join(command[:4])}: {done.stdout[-1000:]}{done.stderr.strip()[-500:]}"
        )
    return done


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Engine() as engine:
            print("An engine answers. In another shell:", flush=True)
            print(f"  export DOCKER_HOST={engine.host}" if engine.host else "  (the usual one)")
            print(f"  export EMUFARM_BASE_IMAGE={BASE.name}", flush=True)
            if engine.ours:
                print("Ctrl-C ends it, with all that runs in it.", flush=True)
                signal.pause()
    except KeyboardInterrupt:
        return
    except NoEngine as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
