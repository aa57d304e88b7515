"""`ime`: which keyboards there are, and which one types."""

from __future__ import annotations

from dataclasses import replace

from ..world import World
from .call import Call, Program
from .service_command import FAILURE, Arguments, Service

LATIN = "com.android.inputmethod.latin/.LatinIME"
# Keyboards by the package that brings them; one exists while its package is installed.
KEYBOARDS = {
    "com.android.inputmethod.latin": LATIN,
    "com.android.adbkeyboard": "com.android.adbkeyboard/.AdbIME",
}
USAGE = """InputMethodManagerService commands:
  help
    Prints this help text.
  list [-a] [-s]
    prints all enabled input methods.
      -a: see all input methods
      -s: only a single summary line of each
  enable [--user <USER_ID>] <ID>
    allows the given input method ID to be used.
  disable [--user <USER_ID>] <ID>
    disallows the given input method ID to be used.
  set [--user <USER_ID>] <ID>
    switches to the given input method ID.
  reset [--user <USER_ID>]
    resets currently selected/enabled IMEs to the default ones.
"""


def installed(world: World) -> list[str]:
    return [ime for package, ime in KEYBOARDS.items() if world.packages.get(package)]


def enabled(world: World) -> list[str]:
    kept = world.settings.get("secure", "enabled_input_methods") or ""
    return [ime for ime in installed(world) if ime in kept.split(":")]


def current(world: World) -> str:
    return world.settings.get("secure", "default_input_method") or LATIN


def full(ime: str) -> str:
    """Ids may be spelled with the whole class name."""
    package, _, name = ime.partition("/")
    return f"{package}/{name.removeprefix(package)}"


async def list_(call: Call, arguments: Arguments) -> int:
    options: set[str] = set()
    while option := arguments.option():
        options.update(option.lstrip("-") if not option.startswith("--") else ())
        if option == "--user":
            arguments.required()
    for ime in installed(call.world) if "a" in options else enabled(call.world):
        await call.out(f"{ime}\n" if "s" in options else described(ime))
    return 0


def described(ime: str) -> str:
    package, _, name = ime.partition("/")
    return (
        f"{ime}:\n  mId={ime} mSettingsActivityName=null mIsVrOnly=false "
        "mSupportsSwitchingToNextInputMethod=true\n  mIsDefaultResId=0x0\n  Service:\n"
        f"    priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=false\n"
        f"    ServiceInfo:\n      name={package}{name}\n      packageName={package}\n"
    )


def target(arguments: Arguments) -> str:
    while arguments.option() is not None:
        arguments.required()  # --user's
    return full(arguments.required())


async def set_(call: Call, arguments: Arguments) -> int:
    ime = target(arguments)
    if ime not in enabled(call.world):
        text = f"Unknown input method {ime} cannot be selected for user #0"
        return await call.fail(text, FAILURE)
    call.world.settings.put("secure", "default_input_method", ime)
    await call.out(f"Input method {ime} selected for user #0\n")
    return 0


async def switch(call: Call, arguments: Arguments) -> int:
    """`enable` and `disable`."""
    on, ime = arguments.command == "enable", target(arguments)
    if ime not in installed(call.world):
        text = f"Unknown input method {ime} cannot be {arguments.command}d for user #0"
        return await call.fail(text, FAILURE)
    kept = enabled(call.world)
    already = (ime in kept) == on
    after = [each for each in kept if each != ime] + ([ime] if on else [])
    call.world.settings.put("secure", "enabled_input_methods", ":".join(after))
    word = "already" if already else "now"
    await call.out(f"Input method {ime}: {word} {arguments.command}d for user #0\n")
    if not on and current(call.world) == ime:
        call.world.settings.put("secure", "default_input_method", LATIN)
    return 0


async def reset(call: Call, arguments: Arguments) -> int:
    call.world.settings.put("secure", "enabled_input_methods", LATIN)
    call.world.settings.put("secure", "default_input_method", LATIN)
    await call.out(
        "Reset current and enabled IMEs for user #0\n"
        f"  Selected: {LATIN}\n  Enabled:\n    {LATIN}\n"
    )
    return 0


async def grouped(call: Call, arguments: Arguments) -> int:
    """`cmd input_method ime list` is `ime list`."""
    return await SERVICE(replace(call, argv=[call.name, *arguments.rest()]))


SERVICE = Service(
    "input_method",
    {
        "list": list_,
        "set": set_,
        "enable": switch,
        "disable": switch,
        "reset": reset,
        "ime": grouped,
    },
    USAGE,
)
PROGRAMS: dict[str, Program] = {"ime": SERVICE}
