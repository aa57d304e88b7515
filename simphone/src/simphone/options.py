"""The emulator's command line, as one frozen record.

Options that steer what a simulated phone does not have (window, sound, GPU, cameras) are taken
and forgotten; an option the emulator does not know is refused in the emulator's own words. Only
those that begin with `-sim-` are not Google's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .faults.order import FaultOrder


FIRST_PORT, LAST_PORT = 5554, 5682
VERSION, BUILD = "35.6.11.0", "13610412"  # of the emulator that this one stands in for
BANNER = f"Android emulator version {VERSION} (build_id {BUILD}) (CL:N/A)"


class OptionError(Exception):
    """What the emulator prints before it exits 1."""


@dataclass(frozen=True)
class Options:
    avd: str = ""
    console_port: int = 0  # 0: the first free pair
    adb_port: int = 0
    skip_adb_auth: bool = False
    delay_adb: bool = False
    snapshot: str = ""
    force_snapshot_load: bool = False
    no_snapshot_load: bool = False
    no_snapshot_save: bool = False
    read_only: bool = False
    wipe_data: bool = False
    memory_mb: int = 0  # 0: as config.ini says
    cores: int = 0
    timezone: str = "Etc/UTC"
    change_locale: str = ""
    props: tuple[tuple[str, str], ...] = ()
    no_boot_anim: bool = False
    verbose: bool = False
    show_kernel: bool = False
    mode: str = "run"  # run | version | help | list-avds | list-snapshots | check | accel-check
    check_snapshot: str = ""
    seed: int = 0
    noise: int | None = None
    faults: tuple[FaultOrder, ...] = ()  # armed from the start
    arming: bool = False  # the console may arm others


Words = Iterator[str]
Reader = Callable[[Options, str, Words], Options]

_IGNORED_FLAGS = (
    "-no-window", "-no-audio", "-no-metrics", "-no-accel", "-no-sim", "-no-cache",
    "-no-snapshot-update-time", "-no-snapstorage", "-no-jni", "-no-nand-limits", "-no-skin",
    "-metrics-to-console", "-no-passive-gps", "-no-direct-adb", "-writable-system",
)  # fmt: skip
_IGNORED_VALUES = (
    "-gpu", "-accel", "-camera-back", "-camera-front", "-logcat", "-netdelay", "-netspeed",
    "-dns-server", "-http-proxy", "-skin", "-scale", "-engine", "-feature", "-grpc", "-screen",
    "-partition-size", "-selinux", "-phone-number", "-vsync-rate", "-idle-grpc-timeout",
)  # fmt: skip


def _value(name: str, words: Words) -> str:
    value = next(words, None)
    if value is None:
        raise OptionError(f"option {name} requires a parameter")
    return value


def _number(name: str, text: str, low: int, high: int) -> int:
    if not re.fullmatch("[0-9]{1,19}", text) or not low <= int(text) <= high:
        raise OptionError(f"option {name} must be followed by an integer between {low} and {high}")
    return int(text)


def _flag(**changes: Any) -> Reader:
    return lambda options, name, words: replace(options, **changes)


def _text(field: str, **changes: Any) -> Reader:
    def read(options: Options, name: str, words: Words) -> Options:
        taken: dict[str, Any] = {field: _value(name, words), **changes}
        return replace(options, **taken)

    return read


def _integer(field: str, low: int, high: int) -> Reader:
    def read(options: Options, name: str, words: Words) -> Options:
        taken: dict[str, Any] = {field: _number(name, _value(name, words), low, high)}
        return replace(options, **taken)

    return read


def _port(options: Options, name: str, words: Words) -> Options:
    port = _number(name, _value(name, words), 1024, 65534)
    if port % 2:
        raise OptionError(f"option -port must be followed by an even integer, not {port}")
    return replace(options, console_port=port, adb_port=port + 1)


def _ports(options: Options, name: str, words: Words) -> Options:
    console, _, adb = _value(name, words).partition(",")
    ports = [_number(name, text.strip(), 1024, 65535) for text in (console, adb)]
    if ports[0] == ports[1]:
        raise OptionError("option -ports must be followed by two different ports: console,adb")
    return replace(options, console_port=ports[0], adb_port=ports[1])


def _prop(options: Options, name: str, words: Words) -> Options:
    key, equals, value = _value(name, words).partition("=")
    if not equals or not key:
        raise OptionError("option -prop must be followed by <name>=<value>")
    return replace(options, props=(*options.props, (key, value)))


def _fault(options: Options, name: str, words: Words) -> Options:
    # Imported here because everybody else who asks for the version would wait for them.
    from .faults.order import BadOrder
    from .faults.table import ordered

    try:
        order = ordered(_value(name, words).split(","))
    except BadOrder as error:
        raise OptionError(f"option {name}: {error}") from error
    return replace(options, faults=(*options.faults, order))


READERS: dict[str, Reader] = {
    "-avd": _text("avd"),
    "-port": _port,
    "-ports": _ports,
    "-skip-adb-auth": _flag(skip_adb_auth=True),
    "-delay-adb": _flag(delay_adb=True),
    "-snapshot": _text("snapshot"),
    "-force-snapshot-load": _flag(force_snapshot_load=True),
    "-no-snapshot": _flag(no_snapshot_load=True, no_snapshot_save=True),
    "-no-snapshot-load": _flag(no_snapshot_load=True),
    "-no-snapshot-save": _flag(no_snapshot_save=True),
    "-read-only": _flag(read_only=True),
    "-wipe-data": _flag(wipe_data=True),
    "-memory": _integer("memory_mb", 128, 65536),
    "-cores": _integer("cores", 1, 64),
    "-timezone": _text("timezone"),
    "-change-locale": _text("change_locale"),
    "-prop": _prop,
    "-no-boot-anim": _flag(no_boot_anim=True),
    "-verbose": _flag(verbose=True),
    "-show-kernel": _flag(show_kernel=True),
    "-version": _flag(mode="version"),
    "-help": _flag(mode="help"),
    "-list-avds": _flag(mode="list-avds"),
    "-snapshot-list": _flag(mode="list-snapshots"),
    "-list-snapshots": _flag(mode="list-snapshots"),
    "-accel-check": _flag(mode="accel-check"),
    "-check-snapshot-loadable": _text("check_snapshot", mode="check"),
    "-sim-seed": _integer("seed", 0, 2**63 - 1),
    "-sim-noise": _integer("noise", 0, 2**63 - 1),
    "-sim-fault": _fault,
    "-sim-faults": _flag(arming=True),
    **{name: _flag() for name in _IGNORED_FLAGS},
    **{name: lambda options, name, words: (_value(name, words), options)[1]
       for name in _IGNORED_VALUES},
}  # fmt: skip


def parse(argv: list[str]) -> Options:
    """OptionError carries the lines the emulator would print."""
    options = Options()
    words = iter(argv)
    for word in words:
        if word == "-qemu":
            break
        if word.startswith("@") and len(word) > 1:
            options = replace(options, avd=word[1:])
        elif word in READERS:
            options = READERS[word](options, word, words)
        elif word.startswith("-"):
            raise OptionError(
                f"unknown option: {word}\nplease use -help for a list of valid options"
            )
        else:
            raise OptionError(
                f"invalid command-line parameter: {word}.\n"
                "Hint: use '@foo' to launch a virtual device named 'foo'.\n"
                "please use -help for more information"
            )
    if options.wipe_data and options.snapshot:
        raise OptionError("-wipe-data cannot be used with -snapshot: it would erase what it loads")
    return options
