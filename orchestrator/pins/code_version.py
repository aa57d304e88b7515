"""The version of this code: package version, git commit, and digests of the requirement locks."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import file_sha256
from ..folders import ROOT
from .host import unknown, value_or_reason

GIT_S = 10.0
LOCKS = ("requirements.txt", "requirements-dev.txt")


def repo_facts(root: Path = ROOT) -> dict[str, Any]:
    return {
        "package": "emufarm",
        "version": __version__,
        **git_facts(root),
        "lock_sha256": {name: value_or_reason(partial(file_sha256, root / name)) for name in LOCKS},
    }


def git_facts(root: Path) -> dict[str, Any]:
    """The commit, and whether files differ from it. An enclosing repository does not count."""
    try:
        top = _git(root, "rev-parse", "--show-toplevel")
        if Path(top).resolve() != root.resolve():
            raise ValueError(f"{root} is not the root of a git checkout")
        commit = _git(root, "rev-parse", "HEAD")
        dirty = bool(_git(root, "status", "--porcelain"))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        why = unknown(str(error))
        return {"commit": why, "dirty": why}
    return {"commit": commit, "dirty": dirty}


def _git(root: Path, *words: str) -> str:
    """Git's output. Raises ValueError with git's own message where it fails."""
    # A hook's GIT_DIR would point elsewhere, and a query must not lock the index.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    answer = subprocess.run(
        ["git", "-C", str(root), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**env, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
        timeout=GIT_S,
        check=False,
    )
    if answer.returncode != 0:
        message = answer.stderr.decode("utf-8", "replace").strip()
        raise ValueError(f"git {words[0]}: {message or f'exit code {answer.returncode}'}")
    return answer.stdout.decode("utf-8", "surrogateescape").strip()
