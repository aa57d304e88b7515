"""The `simphone` program: the emulator's command line, and three commands of its own.

simphone -avd NAME ...                          the emulator's command line
simphone create-avd HOME NAME [KEY=VALUE ...]   make an AVD, as avdmanager would
simphone describe                               print version and folders as JSON
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import __version__
from .avd import EMBEDDED, AvdError, create_avd
from .emulator import main as emulator


def program() -> None:
    sys.exit(main(sys.argv[1:]))


def main(argv: list[str]) -> int:
    match argv:
        case ["create-avd", home, name, *config]:
            return _create_avd(Path(home), name, config)
        case ["create-avd", *_]:
            print("usage: simphone create-avd HOME NAME [KEY=VALUE ...]", file=sys.stderr)
            return 2
        case ["describe"]:
            print(json.dumps(describe(), sort_keys=True))
            return 0
    return emulator(argv)


def describe() -> dict[str, str]:
    """What somebody who pins this program must know of it."""
    return {
        "version": __version__,
        "folder": str(Path(__file__).parent),
        "system_image": str(EMBEDDED),
    }


def _create_avd(home: Path, name: str, config: list[str]) -> int:
    wanted = dict(entry.partition("=")[::2] for entry in config)
    try:
        create_avd(home, name, **{key.replace(".", "__"): value for key, value in wanted.items()})
    except (AvdError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
