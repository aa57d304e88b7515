"""Who may use the console: whoever can read the token file.

An empty file switches authentication off; the file is read anew for every connection.
"""

from __future__ import annotations

import base64
import contextlib
import os
from pathlib import Path


def token_path(home: str) -> Path:
    return Path(home or "/") / ".emulator_console_auth_token"


def ensure_token(path: Path) -> None:
    """Made where absent, complete from its first moment: another phone may be starting too."""
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(base64.b64encode(os.urandom(12)))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def read_token(path: Path) -> str | None:
    """None where it cannot be read: then nobody is let in."""
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None
