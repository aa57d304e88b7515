"""What a `content` command line asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

USAGE = """usage: adb shell content [subcommand] [options]

usage: adb shell content insert --uri <URI> [--user <USER_ID>] --bind <BINDING> [--bind <BINDING>...] [--extra <BINDING>...]
  <URI> a content provider URI.
  <BINDING> binds a typed value to a column and is formatted:
  <COLUMN_NAME>:<TYPE>:<COLUMN_VALUE> where:
  <TYPE> specifies data type such as:
  b - boolean, s - string, i - integer, l - long, f - float, d - double, n - null
  Note: Omit the value for passing an empty string, e.g column:s:

usage: adb shell content update --uri <URI> [--user <USER_ID>] [--where <WHERE>] [--extra <BINDING>...]
  <WHERE> is a SQL style where clause in quotes (You have to escape single quotes - see example below).

usage: adb shell content delete --uri <URI> [--user <USER_ID>] --bind <BINDING> [--bind <BINDING>...] [--where <WHERE>] [--extra <BINDING>...]

usage: adb shell content query --uri <URI> [--user <USER_ID>] [--projection <PROJECTION>] [--where <WHERE>] [--sort <SORT_ORDER>] [--extra <BINDING>...]
  <PROJECTION> is a list of colon separated column names and is formatted:
  <COLUMN_NAME>[:<COLUMN_NAME>...]
  <SORT_ORDER> is the order in which rows in the result should be sorted.

usage: adb shell content call --uri <URI> --method <METHOD> [--arg <ARG>] [--extra <BINDING> ...]
  <METHOD> is the name of a provider-defined method
  <ARG> is an optional string argument

usage: adb shell content read --uri <URI> [--user <USER_ID>]

usage: adb shell content write --uri <URI> [--user <USER_ID>]

usage: adb shell content gettype --uri <URI> [--user <USER_ID>]
"""  # noqa: E501
OPTIONS = {
    "query": ("--projection", "--where", "--sort", "--extra"),
    "insert": ("--bind", "--extra"),
    "update": ("--bind", "--where", "--extra"),
    "delete": ("--bind", "--where", "--extra"),
    "call": ("--method", "--arg", "--extra"),
    "read": (),
    "write": (),
    "gettype": (),
}
LONGEST = {"i": 31, "l": 63}  # bits beside the sign


class UsageError(Exception):
    """The command line is not understood."""


@dataclass
class Request:
    verb: str
    uri: str = ""
    user: str = "0"
    projection: tuple[str, ...] = ()
    where: str = ""
    sort: str = ""
    method: str = ""
    arg: str | None = None
    values: dict[str, Any] = field(default_factory=dict)


def read_request(args: list[str]) -> Request:
    if not args or args[0] not in OPTIONS:
        raise UsageError(f"Unsupported operation: {args[0] if args else 'null'}")
    request = Request(args[0])
    todo = args[1:]
    while todo:
        option = todo.pop(0)
        if option not in ("--uri", "--user", *OPTIONS[request.verb]):
            raise UsageError(f"Unsupported argument: {option}")
        value = todo.pop(0) if todo else ""
        if not value or value.startswith("--"):
            raise UsageError(f"No value for argument: {option}")
        _take(request, option, value)
    if not request.uri:
        raise UsageError("Content provider URI not specified. Did you specify --uri argument?")
    if request.verb in ("insert", "update") and not request.values:
        raise UsageError("Bindings not specified. Did you specify --bind argument(s)?")
    if request.verb == "call" and not request.method:
        raise UsageError("Content provider method not specified.")
    return request


def _take(request: Request, option: str, value: str) -> None:
    match option:
        case "--uri":
            request.uri = value
        case "--user":
            request.user = value
        case "--projection":
            request.projection = tuple(value.split(":"))
        case "--where":
            request.where = value
        case "--sort":
            request.sort = value
        case "--method":
            request.method = value
        case "--arg":
            request.arg = value
        case "--bind":
            name, bound = read_binding(value)
            request.values[name] = bound
        case _:  # --extra: checked, and of no use to a provider here
            read_binding(value)


def read_binding(text: str) -> tuple[str, Any]:
    """`column:type:value`; the value may hold colons."""
    name, colon, rest = text.partition(":")
    kind, second, value = rest.partition(":")
    if not (name and colon and second):
        raise UsageError(f"Binding not well formed: {text}")
    match kind:
        case "s":
            return name, value
        case "b":
            return name, int(value.lower() == "true")
        case "i" | "l":
            return name, _whole(value, LONGEST[kind])
        case "f" | "d":
            return name, _real(value)
        case "n":
            return name, None
    raise UsageError(f"Unsupported type: {kind}")


def _whole(text: str, bits: int) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        number = int(text)
        if -(1 << bits) <= number < 1 << bits:
            return number
    raise UsageError(f'For input string: "{text}"')


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f'For input string: "{text}"') from None
