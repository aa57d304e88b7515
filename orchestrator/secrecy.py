"""Keeps a process's memory, environment and open files from other processes of its user.

An agent that runs as the worker's own user could else read secrets out of it through /proc.
"""

from __future__ import annotations

import ctypes
import os

_PR_SET_DUMPABLE = 4


def hide_this_process() -> None:
    """From now on only root may trace this process or read its /proc/PID/environ, mem, fd, cwd.

    Its command line stays readable to everybody. What it starts is not hidden: a program that is
    executed begins anew.
    """
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "prctl dumpable")
