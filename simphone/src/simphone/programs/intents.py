"""How an intent is read from a command line, and how Android spells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from ..state import Json
from ..ui.screen import Intent
from ..world import World
from .service_command import ILLEGAL_ARGUMENT, Arguments, Thrown

MAIN = "android.intent.action.MAIN"
LAUNCHER = "android.intent.category.LAUNCHER"
NEW_TASK = 0x10000000
FROM_SHELL = 0x00400000
# Schemes whose address is nobody's business; elsewhere only the host is shown.
MASKED = ("tel", "sip", "sms", "smsto", "mailto", "nfc")
FLAG_OPTIONS = {
    "--grant-read-uri-permission": 0x1,
    "--grant-write-uri-permission": 0x2,
    "--exclude-stopped-packages": 0x10,
    "--include-stopped-packages": 0x20,
    "--debug-log-resolution": 0x8,
    "--activity-clear-task": 0x8000,
    "--activity-no-animation": 0x10000,
    "--activity-no-user-action": 0x40000,
    "--activity-reorder-to-front": 0x20000,
    "--activity-clear-when-task-reset": 0x80000,
    "--activity-exclude-from-recents": 0x800000,
    "--activity-brought-to-front": 0x400000,
    "--activity-previous-is-top": 0x1000000,
    "--activity-multiple-task": 0x8000000,
    "--activity-reset-task-if-needed": 0x200000,
    "--activity-clear-top": 0x4000000,
    "--activity-new-task": NEW_TASK,
    "--activity-single-top": 0x20000000,
    "--activity-no-history": 0x40000000,
    "--receiver-foreground": NEW_TASK,
    "--receiver-registered-only": 0x40000000,
    "--receiver-replace-pending": 0x20000000,
}


@dataclass
class Asked:
    """An intent as it was typed; `intent` is the part that apps act on."""

    intent: Intent = field(default_factory=Intent)
    categories: list[str] = field(default_factory=list)
    flags: int = 0
    by_component: bool = False  # -n or a component, not a bare package


def number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        kind = "java.lang.NumberFormatException"
        raise Thrown(kind, f'For input string: "{text}"') from None


def decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        kind = "java.lang.NumberFormatException"
        raise Thrown(kind, f'For input string: "{text}"') from None


def truth(text: str) -> bool:
    if text.lower() in ("true", "t"):
        return True
    if text.lower() in ("false", "f"):
        return False
    return number(text) != 0


EXTRAS: dict[str, Callable[[str], Json]] = {
    "-e": str,
    "--es": str,
    "--ei": number,
    "--el": number,
    "--ez": truth,
    "--ef": decimal,
    "--ed": decimal,
    "--eu": str,
    "--ecn": str,
    "--eia": lambda text: [number(part) for part in text.split(",")],
    "--ela": lambda text: [number(part) for part in text.split(",")],
    "--efa": lambda text: [decimal(part) for part in text.split(",")],
    "--esa": lambda text: text.split(","),
    "--esal": lambda text: text.split(","),
    "--eial": lambda text: [number(part) for part in text.split(",")],
}


def read_intent(arguments: Arguments, others: Callable[[str, Arguments], bool]) -> Asked:
    """Everything after the command. `others` takes the command's own options, and says so."""
    asked = Asked()
    while (word := arguments.option()) is not None:
        if not _option(asked, word, arguments) and not others(word, arguments):
            raise Thrown(ILLEGAL_ARGUMENT, f"Unknown option: {word}")
    word = arguments.next()
    if word is not None:
        _plain_word(asked, word)
    arguments.rest()
    return asked


def _option(asked: Asked, word: str, arguments: Arguments) -> bool:
    intent = asked.intent
    if word in EXTRAS:
        key = arguments.required()
        intent.extras[key] = EXTRAS[word](arguments.required())
    elif word == "--esn":
        intent.extras[arguments.required()] = None
    elif word in FLAG_OPTIONS:
        asked.flags |= FLAG_OPTIONS[word]
    elif word == "-a":
        intent.action = arguments.required()
    elif word == "-d":
        intent.data = arguments.required()
    elif word == "-t":
        intent.mime = arguments.required()
    elif word == "-i":
        arguments.required()  # an identifier that nothing here looks at
    elif word == "-c":
        asked.categories.append(arguments.required())
    elif word == "-f":
        asked.flags |= number(arguments.required())
    elif word == "-p":
        intent.package = arguments.required()
    elif word == "-n":
        name = arguments.required()
        if not _component(asked, name):
            raise Thrown(ILLEGAL_ARGUMENT, f"Bad component name: {name}")
    elif word == "--selector":
        pass
    else:
        return False
    return True


def _component(asked: Asked, name: str) -> bool:
    package, slash, activity = name.partition("/")
    if not (package and slash and activity):
        return False
    asked.intent.package, asked.intent.activity = package, activity
    asked.by_component = True
    return True


def _plain_word(asked: Asked, word: str) -> None:
    """A URI, a component or a package; the latter two mean the app's front door."""
    if ":" in word:
        asked.intent.data = asked.intent.data or word
        asked.intent.action = asked.intent.action or "android.intent.action.VIEW"
        return
    if not _component(asked, word):
        asked.intent.package = asked.intent.package or word
    asked.intent.action = asked.intent.action or MAIN
    asked.categories = asked.categories or [LAUNCHER]


def spelled(asked: Asked, flags: int = 0) -> str:
    """`Intent { ... }`, with more flags than were typed where the service adds them."""
    intent, flags = asked.intent, asked.flags | flags
    parts = [
        f"act={intent.action}" if intent.action else "",
        f"cat=[{','.join(asked.categories)}]" if asked.categories else "",
        f"dat={safe(intent.data)}" if intent.data else "",
        f"typ={intent.mime}" if intent.mime else "",
        f"flg=0x{flags:x}" if flags else "",
        f"pkg={intent.package}" if intent.package and not asked.by_component else "",
        f"cmp={short(intent.package, intent.activity)}" if asked.by_component else "",
        "(has extras)" if intent.extras else "",
    ]
    return f"Intent {{ {' '.join(part for part in parts if part)} }}"


def safe(uri: str) -> str:
    """A URI without what may be private in it."""
    scheme, colon, rest = uri.partition(":")
    if not colon:
        return ""
    if scheme.lower() in MASKED:
        return f"{scheme}:" + "".join(c if c in "-@." else "x" for c in rest)
    if not rest.startswith("/"):
        return f"{scheme}:"
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    where = f"//{host}" if rest.startswith("//") else ""
    return f"{scheme}:{where}{f':{port}' if port else ''}/..."


def short(package: str, activity: str) -> str:
    """package/.Name where the class lies in the package."""
    inside = activity.startswith(package + ".")
    return f"{package}/{activity.removeprefix(package) if inside else activity}"


def long(package: str, activity: str) -> str:
    """package/package.Name"""
    return f"{package}/{package if activity.startswith('.') else ''}{activity}"


def main_activity(world: World, package: str) -> str | None:
    """The screen that an app's icon opens; None for what has no icon."""
    found = world.windows.answering(Intent(MAIN, package=package))
    return found[1].activity if found else None
