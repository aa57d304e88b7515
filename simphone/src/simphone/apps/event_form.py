"""The form that makes or changes an appointment, and what may be wrong with it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from ..providers import calendar
from ..ui import theme
from ..ui.node import Node
from ..ui.scaffold import page
from ..ui.screen import Intent, Screen
from ..ui.stepper import stepper
from ..ui.widgets import Button, Piece, bar, field, row, text
from . import when
from .asking import error
from .extras import truth, whole

if TYPE_CHECKING:
    from ..world import World

FORM = ".event.EditEventActivity"
DETAIL = ".EventInfoActivity"
HOUR = timedelta(hours=1)
STEP = timedelta(minutes=30)
BAD_DATE = "Enter a date like 2026-05-31"
BAD_TIME = "Enter a time like 09:30"


class Mistake(Exception):
    """What a person should change before saving."""


def new_form(day: date, now: datetime) -> Screen:
    """An hour from the next full hour on, on that day."""
    start = datetime(day.year, day.month, day.day, min(now.hour + 1, 22), tzinfo=UTC)
    return filled(start, start + HOUR)


def filled(
    start: datetime, end: datetime, *, all_day: bool = False, event_id: int = 0, **words: str
) -> Screen:
    """The form with these values. The days between start and end stay as they are."""
    last = end - timedelta(microseconds=1) if all_day else end
    args = {"id": event_id, "all_day": all_day, "days": max(0, (last.date() - start.date()).days)}
    fields = {
        "title": words.get("title", ""),
        "location": words.get("location", ""),
        "date": start.date().isoformat(),
        "start": f"{start:%H:%M}",
        "end": f"{end:%H:%M}",
        "description": words.get("description", ""),
    }
    if all_day:
        fields |= {"start": "09:00", "end": "10:00"}
    return Screen(FORM, args, fields)


def changing(event: calendar.Event) -> Screen:
    return filled(
        when.moment(event.start_ms),
        when.moment(event.end_ms),
        all_day=event.all_day,
        event_id=event.id,
        title=event.title,
        location=event.location,
        description=event.description,
    )


def asked_for(world: World, intent: Intent) -> Screen:
    """The form as an INSERT intent fills it."""
    extras = intent.extras
    now = world.clock.date()
    screen = new_form(now.date(), now)
    if (begin := whole(extras.get("beginTime"))) is not None:
        start = when.moment(begin)
        end_ms = whole(extras.get("endTime"))
        end = when.moment(end_ms) if end_ms is not None and end_ms > begin else start + HOUR
        screen = filled(start, end, all_day=truth(extras.get("allDay")))
    for key, name in (("title", "title"), ("eventLocation", "location"),
                      ("description", "description")):  # fmt: skip
        screen.fields[name] = str(extras.get(key) or "")
    return screen


def parsed_date(typed: str) -> date:
    try:
        return datetime.strptime(typed.strip(), "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError as wrong:
        raise Mistake(BAD_DATE) from wrong


def parsed_time(typed: str) -> timedelta:
    """Since midnight."""
    try:
        at = datetime.strptime(typed.strip(), "%H:%M").replace(tzinfo=UTC)
    except ValueError as wrong:
        raise Mistake(BAD_TIME) from wrong
    return timedelta(hours=at.hour, minutes=at.minute)


def span(screen: Screen) -> tuple[int, int]:
    """Start and end of what the form says, in milliseconds."""
    fields = screen.fields
    start_ms = when.midnight_ms(parsed_date(fields.get("date", "")))
    days = int(screen.args.get("days", 0))
    if screen.args.get("all_day"):
        return start_ms, start_ms + (days + 1) * when.DAY_MS
    start = start_ms + parsed_time(fields.get("start", "")) // timedelta(milliseconds=1)
    end = start_ms + days * when.DAY_MS
    end += parsed_time(fields.get("end", "")) // timedelta(milliseconds=1)
    if end <= start:
        raise Mistake("The end must be after the start")
    return start, end


def save(world: World, screen: Screen) -> None:
    """Keeps the appointment and shows it, or says what is wrong and loses nothing."""
    title, place, notes = (
        screen.fields.get(name, "").strip() for name in ("title", "location", "description")
    )
    try:
        if not title:
            raise Mistake("Enter a title")
        start, end = span(screen)
    except Mistake as mistake:
        screen.args["error"] = str(mistake)
        screen.scroll.clear()
        return
    all_day, known = bool(screen.args.get("all_day")), int(screen.args.get("id", 0))
    if known:
        calendar.update_event(world, known, title, start, end, location=place,
                              description=notes, all_day=all_day)  # fmt: skip
        world.windows.finish()
    else:
        new = calendar.add_event(world, title, start, end, location=place, description=notes,
                                 all_day=all_day)  # fmt: skip
        world.windows.replace(Screen(DETAIL, {"id": new}))


def step_date(screen: Screen, days: int) -> None:
    try:
        moved = parsed_date(screen.fields.get("date", "")) + timedelta(days=days)
    except (Mistake, OverflowError):
        screen.args["error"] = BAD_DATE
    else:
        screen.fields["date"] = moved.isoformat()


def step_time(screen: Screen, key: str, steps: int) -> None:
    """Half an hour, round the clock; a later start takes the end along."""
    try:
        moved = {key: parsed_time(screen.fields.get(key, "")) + steps * STEP}
        if key == "start":
            moved["end"] = parsed_time(screen.fields.get("end", "")) + steps * STEP
    except Mistake as mistake:
        screen.args["error"] = str(mistake)
        return
    for name, at in moved.items():
        minutes = int(at.total_seconds() // 60) % (24 * 60)
        screen.fields[name] = f"{minutes // 60:02d}:{minutes % 60:02d}"


def event_form(world: World, screen: Screen) -> Node:
    all_day = bool(screen.args.get("all_day"))
    days = int(screen.args.get("days", 0))

    def flip() -> None:
        screen.args["all_day"] = not all_day

    pieces: list[Piece] = [
        *error(str(screen.args.get("error", ""))),
        field(screen, "title", "Title"),
        field(screen, "location", "Location"),
        row("All day", icon="clock_outline", on=all_day, tap=flip, id="is_all_day"),
        stepper(screen, "date", "Date", partial(step_date, screen)),
    ]
    if not all_day:
        pieces += [
            stepper(screen, "start", "Start time", partial(step_time, screen, "start")),
            stepper(screen, "end", "End time", partial(step_time, screen, "end")),
        ]
    if days:
        later = "1 day later" if days == 1 else f"{days} days later"
        pieces.append(text(f"Ends {later}", size=theme.SMALL, colour=theme.TEXT_SOFT))
    pieces.append(field(screen, "description", "Description", lines=3))
    buttons = bar(Button("Cancel", world.windows.finish, "action_cancel", "plain"),
                  Button("Save", partial(save, world, screen), "action_done"))  # fmt: skip
    title = "Edit event" if screen.args.get("id") else "New event"
    return page(screen, title, pieces, up=world.windows.finish, footer=[buttons])
