"""How a moment is put in words; any number a database may hold is a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

DAY_MS = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What datetime can hold, less a day at both ends so that "the next day" exists.
FIRST_MS = int((datetime(1, 1, 2, tzinfo=UTC) - EPOCH).total_seconds()) * 1000
LAST_MS = int((datetime(9999, 12, 30, tzinfo=UTC) - EPOCH).total_seconds()) * 1000


def moment(ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=max(FIRST_MS, min(LAST_MS, ms)))


def to_ms(at: datetime) -> int:
    return round((at - EPOCH).total_seconds() * 1000)


def midnight_ms(day: date) -> int:
    return to_ms(datetime(day.year, day.month, day.day, tzinfo=UTC))


def clock(ms: int) -> str:
    return moment(ms).strftime("%H:%M")


def brief(ms: int, now: datetime) -> str:
    """For the corner of a list row: a time today, a date before."""
    at = moment(ms)
    if at.date() == now.date():
        return at.strftime("%H:%M")
    return f"{at.day} {at:%b}" if at.year == now.year else f"{at.day} {at:%b} {at.year}"


def long_day(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


def day_heading(day: date, today: date) -> str:
    """Over what happened or will happen on a day."""
    near = {-1: "Yesterday, ", 0: "Today, ", 1: "Tomorrow, "}.get((day - today).days, "")
    year = "" if day.year == today.year else f" {day.year}"
    return f"{near}{day:%A}, {day.day} {day:%B}{year}"


def lasting(seconds: int) -> str:
    """A call's length: 0:07, 12:30, 1:02:03."""
    minutes, rest = divmod(max(0, seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
