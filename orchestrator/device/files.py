"""Reads, copies and removes the phone's files, databases included."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from .adb import Adb
from .deadline import Deadline
from .faults import DeviceFault
from .shell import Shell

# A database is all of these: the main file alone may be days old or hold half a transaction.
DATABASE_PARTS = ("", "-wal", "-shm", "-journal")
_DATABASE_TRIES = 3
_APP_DATA = re.compile(r"/data/(?:data|user/\d+|user_de/\d+|app)/(?:~~[^/]*/)?([\w.]+)")


def app_of_path(path: str) -> tuple[str, ...]:
    """The package that owns the file; empty on shared storage."""
    found = _APP_DATA.match(path)
    return (found[1],) if found else ()


class Files:
    """File access by adb sync where the shell user may, and by `su 0` where only root may."""

    def __init__(self, shell: Shell, adb: Adb) -> None:
        self._shell = shell
        self._adb = adb

    def exists(self, path: str) -> bool:
        """`test` exits with 0 or 1; any other exit code is a fault and not an absent file."""
        result = self._shell.query("test", "-e", path)
        if result.exit_code not in (0, 1) or result.stderr:
            text = f"exit code {result.exit_code}: {result.error_text.strip()}"
            raise DeviceFault("command_failed", text, during=result.command)
        return result.ok

    def read(self, path: str, *, root: bool = False, timeout: float = 60.0) -> bytes:
        """The whole file. A non-zero exit code of `cat` is a fault."""
        result = self._shell.query("cat", path, root=root, timeout=timeout)
        if not result.ok:
            raise DeviceFault("command_failed", result.error_text.strip(), during=f"cat {path}")
        return result.stdout

    def sha256(self, path: str) -> str:
        text = self._shell.answer("sha256sum", path, timeout=120)
        if not re.match(r"[0-9a-f]{64}\b", text):
            raise DeviceFault("bad_answer", f"not a digest: {text[:200]!r}", during="sha256sum")
        return text[:64]

    def push(self, source: Path | bytes, target: str, *, timeout: float = 120.0) -> int:
        return self._adb.push(source, target, timeout=timeout)

    def pull(self, source: str, target: Path, *, timeout: float = 120.0) -> int:
        return self._adb.pull(source, target, timeout=timeout)

    def remove(self, path: str) -> None:
        self._shell.do("rm", "-rf", path)

    def pull_database(
        self, path: str, folder: Path, *, timeout: float = 120.0, root: bool = True
    ) -> Path:
        """Copies a database with its logs; returns the path of the copy, for sqlite3 to open.

        The phone may write during the copy, so the parts on the phone must still equal the copies
        once all are read. A database that changes during every try is a fault.
        """
        target = folder / path.rpartition("/")[2]
        during = "database pull"
        deadline = Deadline(timeout)
        for _ in range(_DATABASE_TRIES):
            before = self._parts(path, deadline, root)
            if "" not in before:
                raise DeviceFault("command_failed", f"{path} does not exist", during=during)
            copies = {
                part: self.read(path + part, root=root, timeout=deadline.share()) for part in before
            }
            copied = {part: hashlib.sha256(data).hexdigest() for part, data in copies.items()}
            # Readers write into -shm too, and sqlite rebuilds it from -wal if it does not match.
            after = self._parts(path, deadline, root)
            if all(after.get(part) == copied.get(part) for part in ("", "-wal", "-journal")):
                break
        else:
            text = f"{path} changed during each of {_DATABASE_TRIES} copies"
            raise DeviceFault("bad_answer", text, during=during)
        try:
            for part in DATABASE_PARTS:
                copy = target.with_name(target.name + part)
                copy.unlink(missing_ok=True)
                if part in copies:
                    copy.write_bytes(copies[part])
        except OSError as error:
            raise DeviceFault("local_file", str(error), during=during) from error
        return target

    def _parts(self, path: str, deadline: Deadline, root: bool) -> dict[str, str]:
        """The digests of the existing parts, by suffix."""
        names = (path + part for part in DATABASE_PARTS)
        result = self._shell.query("sha256sum", *names, root=root, timeout=deadline.share())
        lines = re.findall(r"^([0-9a-f]{64})  (.*)$", result.text, re.MULTILINE)
        return {name.removeprefix(path): digest for digest, name in lines}
