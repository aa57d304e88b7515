"""`settings`: reads and writes the three namespaces of the settings provider."""

from __future__ import annotations

from ..services.settings import NAMESPACES
from .call import Call, Program
from .framework import NO_SERVICE, needs_service
from .service_command import FAILURE

VERBS = {"get": 1, "put": 2, "delete": 1, "list": 0, "reset": 1}  # arguments after the namespace
HELP = """Settings provider (settings) commands:
  help
      Print this help text.
  get [--user <USER_ID> | current] NAMESPACE KEY
      Retrieve the current value of KEY.
  put [--user <USER_ID> | current] NAMESPACE KEY VALUE [TAG] [default]
      Change the contents of KEY to VALUE.
      TAG to associate with the setting.
      {default} to set as the default, case-insensitive only for global/secure namespace
  delete [--user <USER_ID> | current] NAMESPACE KEY
      Delete the entry for KEY.
  reset [--user <USER_ID> | current] NAMESPACE {PACKAGE_NAME | RESET_MODE}
      Reset the global/secure table for a package with mode.
      RESET_MODE is one of {untrusted_defaults, untrusted_clear, trusted_defaults}, case-insensitive
  list [--user <USER_ID> | current] NAMESPACE
      Print all defined keys.
      NAMESPACE is one of {system, secure, global}, case-insensitive
"""


class Refused(Exception):
    """What the service prints on stderr."""


def _read(args: list[str]) -> tuple[str, str, list[str]]:
    """Verb, namespace and the rest; Refused in the service's order of checks."""
    words: list[str] = []
    todo = list(args)
    user = False
    while todo:
        arg = todo.pop(0)
        if arg == "--user":
            if user:
                raise Refused("Invalid user: --user specified more than once")
            if not todo:
                raise Refused("Bad arguments")
            if todo.pop(0) == "all":
                raise Refused("Invalid user: all")
            user = True
            continue
        if not words and arg not in VERBS:
            raise Refused(f"Invalid command: {arg}")
        if len(words) == 1:
            if arg.lower() not in NAMESPACES:
                raise Refused(f"Invalid namespace '{arg}'")
            arg = arg.lower()
        words.append(arg)
    if len(words) < 2 or len(words) - 2 < VERBS[words[0]]:
        raise Refused("Bad arguments")
    verb, space, rest = words[0], words[1], words[2:]
    if verb in ("get", "delete") and len(rest) > 1:
        raise Refused("Too many arguments")
    if verb == "put" and len(rest) > 4:
        raise Refused("Too many arguments")
    if verb == "put" and len(rest) == 4 and rest[3].lower() != "default":
        raise Refused("Argument expected to be 'default'")
    if verb == "reset" and space == "system":
        raise Refused("Invalid namespace 'system'")
    return verb, space, rest


async def settings(call: Call) -> int:
    if not await needs_service(call, "settings"):
        return NO_SERVICE
    await call.world.noise.lag()
    call.world.tick()
    if not call.args or call.args[0] in ("help", "-h"):
        await call.out(HELP)
        return 0 if call.args else FAILURE
    try:
        verb, space, rest = _read(call.java_args)
    except Refused as refused:
        return await call.fail(str(refused), FAILURE)
    answer = _act(call, verb, space, rest)
    await call.out(answer)
    return 0


def _act(call: Call, verb: str, space: str, rest: list[str]) -> str:
    kept = call.world.settings
    if verb == "get":
        value = kept.get(space, rest[0])
        text = "null" if value is None else value
        return call.world.faults.at("settings.get", text) + "\n"
    if verb == "put":
        kept.put(space, rest[0], call.world.faults.at("settings.put", rest[1]))
        return ""
    if verb == "delete":
        return f"Deleted {kept.delete(space, rest[0])} rows\n"
    if verb == "list":
        return "".join(f"{name}={value}\n" for name, value in kept.items(space))
    # Nothing here has a default other than its value, so a reset finds nothing to do.
    return ""


PROGRAMS: dict[str, Program] = {"settings": settings}
