"""date: shows and sets the phone's clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from .call import Call
from .flags import BadUsage, flags
from .opening import reason

SET = re.compile(r"(\d\d)(\d\d)(\d\d)(\d\d)(?:(\d{4}|\d\d)?(?:\.(\d\d))?)?")
FORMS = (
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%SZ",
    "%Y-%m-%dT%H:%M:%S",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d",
    "%H:%M:%S",
    "%H:%M",
)


class BadDate(Exception):
    """Not a date anybody understands."""


def understood(text: str, now: datetime, form: str = "") -> float:
    """Seconds since the epoch that `text` names: toybox's set format, `@seconds`, or ISO;
    where `form` is given, in that."""
    if form:
        try:
            return datetime.strptime(text, form.removeprefix("+")).replace(tzinfo=UTC).timestamp()
        except ValueError:
            raise BadDate(text) from None
    if found := re.fullmatch(r"@(-?\d{1,12})(\.\d{1,9})?", text):
        return float(found.group(1) + (found.group(2) or ""))
    try:
        if found := SET.fullmatch(text):
            month, day, hour, minute = (int(found.group(i)) for i in range(1, 5))
            year = int(found.group(5)) if found.group(5) else now.year
            if found.group(5) and len(found.group(5)) == 2:
                year += 1900 if year > 68 else 2000
            second = int(found.group(6) or 0)
            return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
        for form in FORMS:
            try:
                parsed = datetime.strptime(text, form).replace(tzinfo=UTC)
            except ValueError:
                continue
            if "%Y" not in form:
                parsed = parsed.replace(year=now.year, month=now.month, day=now.day)
            return parsed.timestamp()
    except (ValueError, OverflowError):
        pass  # a month 13 is as unreadable as a word
    raise BadDate(text)


def shown(form: str, when: datetime) -> str:
    """strftime with the guest's zone, and GNU's %N, %3N and %s."""
    nanos = f"{when.microsecond * 1000:09d}"

    def one(found: re.Match[str]) -> str:
        digits, letter = found.groups()
        match letter:
            case "s":
                return str(int(when.timestamp()))
            case "N":
                return nanos[: int(digits or 9)]
            case "Z":
                return "UTC"
            case "z":
                return "+0000"
            case "%":
                return "%"
        return when.strftime("%" + letter)

    return re.sub(r"%[-_0^#]?(\d?)([a-zA-Z%])", one, form)


ISO = {
    "d": "%Y-%m-%d",
    "h": "%Y-%m-%dT%H+00:00",
    "m": "%Y-%m-%dT%H:%M+00:00",
    "s": "%Y-%m-%dT%H:%M:%S+00:00",
    "n": "%Y-%m-%dT%H:%M:%S,%N+00:00",
}


def _iso(args: list[str]) -> tuple[str, list[str]]:
    """-I takes its value only from its own word: the resolution, and the other words."""
    found = [arg for arg in args if arg.startswith("-I")]
    return (found[-1][2:3] or "d") if found else "", [arg for arg in args if arg not in found]


async def date(call: Call) -> int:
    resolution, args = _iso(call.args)
    given = flags(args, "ud:r:s:D:", {"utc": "u", "date": "d", "set": "s"})
    clock = call.world.clock
    now = clock.date()
    form = ISO.get(resolution, "%a %b %e %H:%M:%S %Z %Y")
    setting = given.value("s")
    for arg in given.rest:
        if arg.startswith("+"):
            form = arg[1:]
        elif setting:
            raise BadUsage("Max 1 argument")
        else:
            setting = arg
    try:
        if "d" in given:
            now = moment(understood(given.value("d"), now, given.value("D")))
        elif "r" in given:
            path = given.value("r")
            try:
                now = moment(call.world.disk.entry(path, call.uid, call.cwd).mtime)
            except OSError as error:
                return await call.fail(f"date: Can't stat {path}: {reason(error)}")
        elif setting:
            seconds = understood(setting, now, given.value("D"))
            moment(seconds)
            if call.uid != 0:
                return await call.fail("date: cannot set date: Operation not permitted")
            clock.set_date(seconds)
            now = clock.date()
    except BadDate as error:
        return await call.fail(f"date: bad date {error}")
    await call.out(shown(form, now) + "\n")
    return 0


def moment(seconds: float) -> datetime:
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        raise BadDate(f"@{seconds:.0f}") from None


PROGRAMS = {"date": date}
