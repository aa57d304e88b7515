"""The emulator's command line: answers questions such as -version, or runs a phone."""

from __future__ import annotations

import os
import sys

from .avd import AvdError, avd_home, list_avds, load_avd
from .options import BANNER, READERS, OptionError, parse


def main(argv: list[str]) -> int:
    environ = os.environ
    try:
        options = parse(argv)
    except OptionError as error:
        print(error, file=sys.stderr)
        return 1
    if options.mode == "version":
        print(f"{BANNER}\nThe simulated phone of emufarm; not Google's emulator.")
        return 0
    if options.mode == "help":
        print("Android Emulator usage: emulator [options] [-qemu args]\n  options:")
        print("".join(f"    {name}\n" for name in sorted(READERS)), end="")
        return 0
    if options.mode == "accel-check":
        print("accel:\n0\nThe simulated phone needs no acceleration and is usable.\naccel")
        return 0
    if options.mode == "list-avds":
        print("".join(f"{name}\n" for name in list_avds(avd_home(environ))), end="")
        return 0
    # Imported here because everybody who asks for the version would wait for it.
    from . import emulator_process

    try:
        if not options.avd:
            raise AvdError(
                "No AVD specified. Use '@foo' or '-avd foo' to launch a virtual device named 'foo'"
            )
        avd = load_avd(options.avd, environ)
    except AvdError as error:
        print(error, file=sys.stderr)
        return 1
    if options.mode in ("list-snapshots", "check"):
        return emulator_process.look(options, avd)
    return emulator_process.run(options, avd, environ)
