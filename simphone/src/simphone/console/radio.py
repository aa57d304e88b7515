"""The console's hand on the modem, the battery and the GPS."""

from __future__ import annotations

import re

from ..services import battery
from .session import Command, Refused, Session

_NUMBER = re.compile(r"[0-9+#]+")
_SENDER = re.compile(r"\+?[0-9]+")
_ESCAPE = re.compile(r"\\(n|\\|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})|\\")
_TEXT_HELP = (
    "message must be utf8 and can use the following escapes:\r\n"
    "    \\n      for a newline\r\n"
    "    \\xNN    where NN are two hexadecimal numbers\r\n"
    "    \\uNNNN  where NNNN are four hexadecimal numbers\r\n"
    "    \\\\     to send a '\\' character\r\n\r\n"
    "    anything else is an error\r\n"
)


def unescape(text: str) -> str:
    """ValueError where it is not what `sms send` takes."""

    def one(match: re.Match[str]) -> str:
        code = match.group(1)
        if code is None:
            raise ValueError("a backslash that escapes nothing")
        if code in ("n", "\\"):
            return "\n" if code == "n" else "\\"
        return chr(int(code[1:], 16))

    plain = _ESCAPE.sub(one, text)
    plain.encode("utf-8")  # a lone surrogate is no text
    return plain


async def _sms_send(session: Session, args: str) -> str:
    number, space, text = args.partition(" ")
    if not space:
        raise Refused("missing argument, try 'sms send <phonenumber> <text message>'")
    if not _SENDER.fullmatch(number):
        raise Refused("bad phone number format, must be [+](0-9)*")
    try:
        message = unescape(text)
    except ValueError as error:
        raise Refused("badly formatted text", before=_TEXT_HELP) from error
    session.phone.world.telephony.receive_sms(number, message)
    return ""


def _number(args: str, command: str) -> str:
    if not args:
        raise Refused(f"missing argument, try 'gsm {command} <phonenumber>'")
    if not _NUMBER.fullmatch(args):
        raise Refused("bad phone number format, use digits, # and + only")
    return args


async def _gsm_call(session: Session, args: str) -> str:
    # The emulated modem takes the call whatever the phone makes of it.
    session.phone.world.telephony.ring(_number(args, "call"))
    return ""


async def _gsm_accept(session: Session, args: str) -> str:
    number = _number(args, "accept")
    telephony = session.phone.world.telephony
    if telephony.call is None or telephony.call.number != number:
        raise Refused(f"no current call to/from number '{number}'")
    telephony.accept(number)
    return ""


async def _gsm_cancel(session: Session, args: str) -> str:
    number = _number(args, "call")  # the emulator's own words name the wrong command
    if not session.phone.world.telephony.cancel(number):
        raise Refused("could not cancel this number")
    return ""


async def _gsm_busy(session: Session, args: str) -> str:
    number = _number(args, "busy")
    if not session.phone.world.telephony.busy(number):
        raise Refused(f"no current outbound call to number '{number}' (call (nil))")
    return ""


async def _gsm_list(session: Session, args: str) -> str:
    call = session.phone.world.telephony.call
    if call is None:
        return ""
    direction = "inbound from" if call.incoming else "outbound to "
    state = "incoming" if call.incoming and call.state == "ringing" else call.state
    return f"{direction} {call.number:<10} : {'ringing' if state == 'dialing' else state}\r\n"


async def _gsm_status(session: Session, args: str) -> str:
    away = session.phone.world.settings.on("global", "airplane_mode_on")
    state = "off" if away else "home"
    return f"gsm voice state: {state}\r\ngsm data state:  {state}\r\n"


async def _network_status(session: Session, args: str) -> str:
    return (
        "Current network status:\r\n"
        "  download speed:          0 bits/s (0.0 KB/s)\r\n"
        "  upload speed:            0 bits/s (0.0 KB/s)\r\n"
        "  minimum latency:  0 ms\r\n"
        "  maximum latency:  0 ms\r\n"
    )


async def _power_display(session: Session, args: str) -> str:
    properties = session.phone.world.properties
    level, plugged = battery.level(properties), battery.plugged(properties)
    return (
        f"AC: {'online' if plugged else 'offline'}\r\n"
        f"status: {'Charging' if plugged else 'Discharging'}\r\n"
        f"health: Good\r\npresent: true\r\ncapacity: {level}\r\n"
    )


async def _power_ac(session: Session, args: str) -> str:
    if args.lower() not in ("on", "off"):
        raise Refused('Usage: "ac on" or "ac off"')
    battery.set_plugged(session.phone.world.properties, args.lower() == "on")
    return ""


async def _power_capacity(session: Session, args: str) -> str:
    if not (args.isascii() and args.isdigit()) or len(args) > 3 or int(args) > 100:
        raise Refused('Usage: "capacity <percentage>"')
    battery.set_level(session.phone.world.properties, int(args))
    return ""


async def _geo_fix(session: Session, args: str) -> str:
    values = []
    for word in args.split()[:5]:
        try:
            values.append(float(word))
        except ValueError:
            raise Refused(f"argument '{word}' is not a number") from None
    if len(values) < 2:
        raise Refused("not enough arguments: see 'help geo fix' for details")
    if not -180 <= values[0] <= 180:
        raise Refused("invalid longitude value. Should be in [-180,+180] range")
    if not -90 <= values[1] <= 90:
        raise Refused("invalid latitude value. Should be in [-90,+90] range")
    return ""


SMS = Command("sms", "SMS related commands", description=(
    "allows you to simulate an inbound SMS\r\n"), commands=(
    Command("send", "send inbound SMS text message", _sms_send, description=(
        "'sms send <phonenumber> <message>' allows you to simulate a new inbound sms message\r\n")),
))  # fmt: skip
GSM = Command("gsm", "GSM related commands", description=(
    "allows you to change GSM-related settings, or to make a new inbound phone call\r\n"
    ), commands=(
    Command("list", "list current phone calls", _gsm_list),
    Command("call", "create inbound phone call", _gsm_call),
    Command("busy", "close waiting outbound call as busy", _gsm_busy),
    Command("accept", "change the state of an outbound call to 'active'", _gsm_accept),
    Command("cancel", "disconnect an inbound or outbound phone call", _gsm_cancel),
    Command("status", "display GSM status", _gsm_status),
))  # fmt: skip
NETWORK = Command("network", "manage network settings", description=(
    "allows you to manage the settings related to the network data connection of the\r\n"
    "emulated device.\r\n"), commands=(
    Command("status", "dump network status", _network_status),
))  # fmt: skip
POWER = Command("power", "power related commands", description=(
    "allows to change battery and AC power status\r\n"), commands=(
    Command("display", "display battery and charger state", _power_display),
    Command("ac", "set AC charging state", _power_ac),
    Command("capacity", "set battery capacity state", _power_capacity),
))  # fmt: skip
GEO = Command("geo", "Geo-location commands", description=(
    "allows you to change Geo-related settings, or to send GPS NMEA sentences\r\n"), commands=(
    Command("fix", "send a simple GPS fix", _geo_fix),
))  # fmt: skip
