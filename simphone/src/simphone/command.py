"""The `simphone` program: the emulator's command line, and three commands of its own.

    simphone -avd NAME ...                          the emulator's command line
    simphone create-avd HOME NAME [KEY=VALUE ...]   make an AVD, as avdmanager would
    simphone describe                               print version and folders as JSON
    simphone sdk --out DIR --wheelhouse DIR         pack the phone as an SDK, print its zips as JSON

Its own commands exit 0, 1 with one line on stderr, or 2 where they were called wrongly.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from .avd import EMBEDDED, AvdError, create_avd
from .emulator import main as emulator

if TYPE_CHECKING:
    import argparse

COMMANDS = ("create-avd", "describe", "sdk")


def program() -> None:
    sys.exit(main(sys.argv[1:]))


def main(argv: list[str]) -> int:
    return _own_command(argv) if argv and argv[0] in COMMANDS else emulator(argv)


def describe() -> dict[str, str]:
    """What somebody who pins this program must know of it."""
    return {
        "version": __version__,
        "folder": str(Path(__file__).parent),
        "system_image": str(EMBEDDED),
    }


def _own_command(argv: list[str]) -> int:
    # Imported here because every start of a phone would wait for them.
    from .sdk import SdkError, pack

    wanted = _parser().parse_args(argv)
    try:
        if wanted.command == "create-avd":
            config = dict(entry.partition("=")[::2] for entry in wanted.config)
            options = {key.replace(".", "__"): value for key, value in config.items()}
            create_avd(wanted.home, wanted.name, **options)
        elif wanted.command == "sdk":
            _print_json(pack(wanted.out, wanted.wheelhouse))
        else:
            _print_json(describe())
    except (AvdError, SdkError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(prog="simphone")
    commands = parser.add_subparsers(dest="command", required=True)
    avd = commands.add_parser("create-avd", help="make an AVD")
    avd.add_argument("home", type=Path)
    avd.add_argument("name")
    avd.add_argument("config", nargs="*", metavar="KEY=VALUE")
    commands.add_parser("describe", help="print version and folders as JSON")
    sdk = commands.add_parser("sdk", help="pack the phone as an SDK")
    sdk.add_argument("--out", type=Path, required=True, help="where the three zips go")
    sdk.add_argument("--wheelhouse", type=Path, required=True, help="wheels of what it needs")
    return parser


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, sort_keys=True))
