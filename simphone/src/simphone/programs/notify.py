"""`cmd notification` and `cmd statusbar`: post to the shade, open and close it."""

from __future__ import annotations

from ..processes import SHELL
from .call import Call
from .dumpsys_package import described
from .service_command import FAILURE, Arguments, Service

SHELL_PACKAGE = "com.android.shell"
SHELL_ID = 2020
# Options of `post` and how many words each takes.
POST_OPTIONS = {
    "-h": 0, "--help": 0, "-v": 0, "--verbose": 0, "-i": 1, "--icon": 1, "-I": 1,
    "--large-icon": 1, "-c": 1, "--content-intent": 1, "-t": 1, "--title": 1,
}  # fmt: skip
STYLES = ("bigtext", "bigpicture", "inbox", "messaging", "media")
POST_USAGE = """usage: cmd notification post [flags] <tag> <text>

flags:
  -h|--help
  -v|--verbose
  -t|--title <text>
  -i|--icon <iconspec>
  -I|--large-icon <iconspec>
  -S|--style <style> [styleargs]
  -c|--content-intent <intentspec>

styles: (default none)
  bigtext
  bigpicture --picture <iconspec>
  inbox --line <text> --line <text> ...
  messaging --conversation <title> --message <who>:<text> ...
  media
"""
ZEN = {"off": "0", "all": "0", "priority": "1", "on": "1", "none": "2", "alarms": "3"}
USAGE = """usage: cmd notification SUBCMD [args]

SUBCMDs:
  allow_listener COMPONENT [user_id (current user if not specified)]
  disallow_listener COMPONENT [user_id (current user if not specified)]
  set_dnd [on|none (same as on)|priority|alarms|all|off (same as all)]
  post [--help | flags] TAG TEXT
  list
  get <notification-key>
"""


async def post(call: Call, arguments: Arguments) -> int:
    title, lines = "Shell", []
    while (word := arguments.option()) is not None:
        if word in ("-S", "--style"):
            style = arguments.required()
            if style not in STYLES:
                return await call.fail(f"error: unrecognized notification style: {style}")
        elif word in ("--line", "--message"):
            lines.append(arguments.required())
        elif word in ("--picture", "--conversation", "--bigtext"):
            arguments.required()
        elif word in ("-h", "--help") or word not in POST_OPTIONS:
            await call.out(POST_USAGE)
            return 0 if word in ("-h", "--help") else FAILURE
        elif POST_OPTIONS[word]:
            value = arguments.required()
            title = value if word in ("-t", "--title") else title
    tag, text = arguments.next(), arguments.next()
    if tag is None or text is None:
        await call.out(POST_USAGE)
        return FAILURE
    posted = call.world.notifications.post(
        SHELL_PACKAGE, title, "\n".join([text, *lines]), id=SHELL_ID, tag=tag, uid=SHELL
    )
    await call.out(f"posting:\n  {described(posted)}\n")
    return 0


async def list_(call: Call, arguments: Arguments) -> int:
    await call.out("".join(f"{posted.key}\n" for posted in call.world.notifications.all()))
    return 0


async def get(call: Call, arguments: Arguments) -> int:
    key = arguments.required()
    for posted in call.world.notifications.all():
        if posted.key == key:
            await call.out(f"{described(posted)}\n")
            return 0
    await call.out("No such notification\n")
    return FAILURE


async def set_dnd(call: Call, arguments: Arguments) -> int:
    word = arguments.required()
    if word not in ZEN:
        await call.err(f"Invalid argument: {word}\n")
        return FAILURE
    call.world.settings.put("global", "zen_mode", ZEN[word])
    return 0


async def listener(call: Call, arguments: Arguments) -> int:
    name = arguments.required()
    known = call.world.settings.get("secure", "enabled_notification_listeners") or ""
    names = [each for each in known.split(":") if each and each != name]
    if arguments.command == "allow_listener":
        names.append(name)
    call.world.settings.put("secure", "enabled_notification_listeners", ":".join(names))
    return 0


NOTIFICATION = Service(
    "notification",
    {
        "post": post,
        "notify": post,
        "list": list_,
        "get": get,
        "set_dnd": set_dnd,
        "allow_listener": listener,
        "disallow_listener": listener,
    },
    USAGE,
)


async def expand(call: Call, arguments: Arguments) -> int:
    if call.world.windows.tasks:
        call.world.windows.open_shade()
    return 0


async def collapse(call: Call, arguments: Arguments) -> int:
    call.world.windows.close_shade()
    return 0


STATUS_BAR = Service(
    "statusbar",
    {"expand-notifications": expand, "expand-settings": expand, "collapse": collapse},
)
