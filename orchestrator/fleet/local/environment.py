"""The whole environment of a device's and a worker's processes on this machine: two closed lists.

Whatever else the user's shell has, such as keys of models and clouds, reaches neither the emulator,
adb and their supervisor nor a worker.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...pins.profile import IMAGES_VARIABLE

# Each with the reason why it is passed on.
OF_DEVICES = {
    "PATH": "the emulator starts programs of the system",
    "HOME": "Python may have its packages there; the supervisor gives its children another",
    "LANG": "the encoding of file names and logs",
    "TMPDIR": "the emulator, adb and the supervisor's copies use temporary files",
    "LD_LIBRARY_PATH": "a graphics driver or a Python whose libraries are elsewhere",
    "DISPLAY": "an emulator that draws with the host's GPU asks the X server",
    "XAUTHORITY": "the key to that X server, which is in the user's HOME otherwise",
    "XDG_RUNTIME_DIR": "the sockets of graphics and sound",
}
OF_WORKERS = {
    "PATH": "the programs of agents are found by it, and agents get it",
    "HOME": "Python may have its packages there; agents get another",
    "LANG": "the encoding of file names and logs, and agents get it",
    IMAGES_VARIABLE: "where profiles are",
}


def device_env() -> dict[str, str]:
    """Without the user's own SDK, where a simulated phone would look for its system image."""
    return _passed_on(OF_DEVICES)


def worker_env(scratch: Path) -> dict[str, str]:
    """`scratch` is where its temporary files are, and the home folders of its agents."""
    return {**_passed_on(OF_WORKERS), "TMPDIR": str(scratch)}


def _passed_on(names: Mapping[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}
