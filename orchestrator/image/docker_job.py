"""A container that does one job: made with the files it needs, watched to its end, removed."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..device.deadline import Deadline
from ..events.notify import Notify
from ..fleet.docker import containers
from ..fleet.docker.containers import ContainerSpec, Mount
from ..fleet.docker.engine import Engine, EngineRefused

FOLDER = "/run/emufarm"  # a volume of the container's own, for what it is given
GIVEN = Mount(FOLDER, volume=True)
USER = 10001  # in every image of ours
_LOOK_S = 0.2
_SAY_S = 5.0

Files = Mapping[str, bytes | Path]  # name below FOLDER -> its content, or where it lies


@dataclass(frozen=True)
class JobResult:
    code: int
    printed: str
    last_words: str

    @property
    def why(self) -> str:
        """The last thing it said, without the name of the program that said it."""
        lines = [line for line in self.last_words.splitlines() if line.strip()]
        return lines[-1].removeprefix("emufarm: ") if lines else f"exit code {self.code}"


@contextmanager
def running(engine: Engine, spec: ContainerSpec, files: Files) -> Iterator[str]:
    """Its id, once it runs; gone afterwards, with its volumes."""
    id = containers.create(engine, spec)
    try:
        containers.upload(engine, id, FOLDER, packed(files))
        containers.start(engine, id)
        yield id
    finally:
        containers.remove(engine, id)


def wait_for_end(
    engine: Engine,
    id: str,
    what: str,
    seconds: float,
    notify: Notify,
    check: Callable[[], None] = lambda: None,
) -> JobResult | None:
    """What came of it, its stderr told line by line meanwhile; None where the time is over first.
    `check` is asked all along and may raise."""
    deadline, told, since = Deadline(seconds), 0, time.monotonic()
    said = since
    while True:
        seen = containers.inspect(engine, id)
        errors = containers.output(engine, id, errors=True)
        # Once it has ended its last words are the outcome's, not progress.
        whole = errors.splitlines() if seen.exit_code == 0 else errors.split("\n")[:-1]
        for line in whole[told:] if seen.exit_code in (None, 0) else ():
            notify(line)
            said = time.monotonic()
        told = max(told, len(whole))
        if seen.exit_code is not None:
            return JobResult(seen.exit_code, containers.output(engine, id), errors.strip())
        if deadline.passed:
            return None
        if time.monotonic() - said > _SAY_S:
            said = time.monotonic()
            notify(f"{what}: still at it ({said - since:.0f} s)")
        check()
        time.sleep(_LOOK_S)


def last_lines(engine: Engine, id: str, log: str = "", count: int = 3) -> str:
    """The end of what a container said, and of a file in it, in one line."""
    written = b""
    with suppress(EngineRefused):  # it may never have got as far as to write one
        written = read(engine, id, log) if log else b""
    spoken = f"{written.decode('utf-8', 'replace')}\n{containers.log_tail(engine, id, count)}"
    lines = [" ".join(line.split()) for line in spoken.splitlines() if line.strip()]
    return "; ".join(lines[-count:]) or "nothing"


def read(engine: Engine, id: str, path: str) -> bytes:
    """One small file of a container."""
    archive = io.BytesIO(b"".join(containers.download(engine, id, path)))
    with tarfile.open(fileobj=archive) as tar:
        for member in tar:
            if (file := tar.extractfile(member)) is not None:
                return file.read()
    raise EngineRefused(f"{path} in the container {id[:12]} is no file")


def packed(files: Files) -> bytes:
    """Readable by the container's user and nobody else."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in sorted({str(p) for name in files for p in Path(name).parents} - {"."}):
            tar.addfile(_entry(folder, tarfile.DIRTYPE, 0o500))
        for name, content in sorted(files.items()):
            data = content if isinstance(content, bytes) else content.read_bytes()
            entry = _entry(name, tarfile.REGTYPE, 0o400)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _entry(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = kind, mode
    entry.uid = entry.gid = USER
    return entry
