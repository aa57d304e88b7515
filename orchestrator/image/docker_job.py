"""Runs one job in a container: gives it files, follows it to its end, removes it."""

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
from ..fleet.container_layout import GIVEN_FOLDER
from ..fleet.docker import containers
from ..fleet.docker.containers import ContainerSpec, Mount
from ..fleet.docker.engine import Engine, EngineRefused

GIVEN = Mount(GIVEN_FOLDER, volume=True)  # a volume of the container
USER = 10001  # of every image that we build
_POLL_S = 0.2
STILL_S = 5.0  # between two lines that say it is still running

GivenFiles = Mapping[str, bytes | Path]  # name below GIVEN_FOLDER -> its content, or its file


@dataclass(frozen=True)
class JobResult:
    """How a job ended, and what it printed."""

    code: int
    printed: str
    errors: str

    @property
    def why(self) -> str:
        """The last line of its standard error, without the program's name."""
        lines = [line for line in self.errors.splitlines() if line.strip()]
        return lines[-1].removeprefix("emufarm: ") if lines else f"exit code {self.code}"


@contextmanager
def running(engine: Engine, spec: ContainerSpec, files: GivenFiles) -> Iterator[str]:
    """Start a container and yield its id; remove it afterwards, with its volumes."""
    id = containers.create(engine, spec)
    try:
        containers.upload(engine, id, GIVEN_FOLDER, packed(files))
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
    """The result, or None where it takes longer. Meanwhile its standard error is reported line by
    line, and `check` is called at every poll and may raise."""
    deadline, reported, began = Deadline(seconds), 0, time.monotonic()
    last = began
    while True:
        state = containers.inspect(engine, id)
        errors = containers.output(engine, id, errors=True)
        # After a failure the last lines are the result's, not progress.
        lines = errors.splitlines() if state.exit_code == 0 else errors.split("\n")[:-1]
        for line in lines[reported:] if state.exit_code in (None, 0) else ():
            notify(line)
            last = time.monotonic()
        reported = max(reported, len(lines))
        if state.exit_code is not None:
            return JobResult(state.exit_code, containers.output(engine, id), errors.strip())
        if deadline.passed:
            return None
        if time.monotonic() - last > STILL_S:
            last = time.monotonic()
            notify(f"{what}: still running ({last - began:.0f} s)")
        check()
        time.sleep(_POLL_S)


def last_lines(engine: Engine, id: str, log: str = "", count: int = 3) -> str:
    """The last lines of a container's output and of a log file in it, as one line."""
    written = b""
    with suppress(EngineRefused):  # it may have ended before it wrote one
        written = read(engine, id, log) if log else b""
    printed = f"{written.decode('utf-8', 'replace')}\n{containers.log_tail(engine, id, count)}"
    lines = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
    return "; ".join(lines[-count:]) or "nothing"


def read(engine: Engine, id: str, path: str) -> bytes:
    """The content of one small file in a container."""
    archive = io.BytesIO(b"".join(containers.download(engine, id, path)))
    with tarfile.open(fileobj=archive) as tar:
        for member in tar:
            if (file := tar.extractfile(member)) is not None:
                return file.read()
    raise EngineRefused(f"{path} in the container {id[:12]} is no file")


def packed(files: GivenFiles) -> bytes:
    """A tar of the files that only the container's user can read."""
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
