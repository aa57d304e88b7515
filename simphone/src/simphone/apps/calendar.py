"""The Calendar app: a month, what is on from a day on, and one appointment."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from ..providers import calendar
from ..providers.calendar import Event
from ..providers.uri import parse
from ..ui import theme
from ..ui.month import month_grid, month_title
from ..ui.node import Node, dp
from ..ui.scaffold import Tool, page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Piece, divider, header, row, space, text
from . import when
from .asking import confirm
from .builtin import VIEW, Builtin
from .event_form import DETAIL, FORM, asked_for, changing, event_form, new_form
from .extras import whole

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.android.calendar"
MONTH = ".AllInOneActivity"
INSERT, EDIT = "android.intent.action.INSERT", "android.intent.action.EDIT"
MIME = "vnd.android.cursor.dir/event"
COLOUR = "#2952A3"
MOST = 200  # rows of the agenda


class Calendar(Builtin):
    package = PACKAGE
    label = "Calendar"
    icon = "calendar"
    colour = "#1F7A8C"
    main = MONTH
    permissions: tuple[str, ...] = (
        "android.permission.READ_CALENDAR",
        "android.permission.WRITE_CALENDAR",
    )

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        uri = parse(intent.data)
        kind = uri.path[0] if uri.authority == PACKAGE and uri.path else ""
        number = whole(uri.path[1]) if len(uri.path) > 1 else None
        if intent.action == INSERT and (kind == "events" or intent.mime == MIME):
            return asked_for(world, intent)
        if intent.action in (VIEW, EDIT) and kind == "events":
            known = calendar.event(world, number or 0)
            if known is None:
                return Screen(MONTH)
            return Screen(DETAIL, {"id": known.id}) if intent.action == VIEW else changing(known)
        if intent.action == VIEW and kind == "time":
            day = when.moment(number).date() if number is not None else world.clock.date().date()
            return Screen(MONTH, {"day": day.isoformat()})
        if intent.package and intent.activity in (*self.names(FORM), *self.names(DETAIL)):
            return asked_for(world, intent)
        return super().open(world, intent)

    def view(self, world: World, screen: Screen) -> Node:
        views = {MONTH: month, DETAIL: detail, FORM: event_form}
        return views[screen.activity](world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        if not screen.dialog or screen.dialog.get("kind") != "delete":
            return None

        def delete() -> None:
            calendar.delete_event(world, int(screen.args["id"]))
            world.windows.finish()

        return confirm(screen, "Delete this event?", "It will be removed from the calendar.",
                       "Delete", delete)  # fmt: skip


def days_of(event: Event) -> tuple[date, date]:
    """The first and the last day that an appointment touches."""
    first = when.moment(event.start_ms).date()
    return first, max(first, when.moment(event.end_ms - 1).date())


def hours(event: Event) -> str:
    first, last = days_of(event)
    if event.all_day:
        return "All day" if first == last else f"All day, until {last.day} {last:%B}"
    until = when.clock(event.end_ms)
    if first != last:
        until = f"{last.day} {last:%B}, {until}"
    return f"{when.clock(event.start_ms)} – {until}"


def busy_days(events: list[Event], month_: date) -> set[date]:
    """Days of the month with something on them."""
    start, end = month_.replace(day=1), month_.replace(day=monthrange(month_.year, month_.month)[1])
    busy: set[date] = set()
    for event in events:
        first, last = days_of(event)
        first, last = max(first, start), min(last, end)
        busy.update(first + timedelta(days=n) for n in range((last - first).days + 1))
    return busy


def turned(day: date, months: int) -> date:
    """The same day some months on, or that month's last; the calendar's ends stop it."""
    number = day.year * 12 + day.month - 1 + months
    year, month_ = divmod(min(max(number, 2 * 12), 9998 * 12 + 11), 12)
    return date(year, month_ + 1, min(day.day, monthrange(year, month_ + 1)[1]))


def month(world: World, screen: Screen) -> Node:
    today = world.clock.date().date()
    selected = date.fromisoformat(str(screen.args.get("day") or today))
    events = calendar.events(world)

    def choose(day: date) -> None:
        screen.args["day"] = day.isoformat()
        screen.scroll.clear()

    pieces: list[Piece] = [
        month_title(selected, lambda months: choose(turned(selected, months))),
        month_grid(selected, today, busy_days(events, selected), choose),
        divider(),
        *agenda(world, events, selected, today),
    ]
    create = Tool("plus", "New event",
                  lambda: world.windows.push(new_form(selected, world.clock.date())),
                  id="floating_action_button")  # fmt: skip
    tools = [Tool("calendar_today", "Today", partial(choose, today), id="action_today")]
    return page(screen, "Calendar", pieces, tools=tools, fab=create)


def agenda(world: World, events: list[Event], selected: date, today: date) -> list[Piece]:
    """What is on from the selected day on, by day. What began before stands on that day."""

    def enter(event_id: int) -> None:
        world.windows.push(Screen(DETAIL, {"id": event_id}))

    def shown_on(event: Event) -> date:
        return max(days_of(event)[0], selected)

    coming = [event for event in events if days_of(event)[1] >= selected]
    del coming[MOST:]  # they come in order of time
    coming.sort(key=lambda event: (shown_on(event), not event.all_day, event.start_ms, event.id))
    pieces: list[Piece] = []
    if not coming or shown_on(coming[0]) != selected:
        pieces += [header(when.day_heading(selected, today)),
                   text("Nothing planned", size=theme.SMALL, colour=theme.TEXT_SOFT)]  # fmt: skip
    for day, group in groupby(coming, shown_on):
        pieces.append(header(when.day_heading(day, today)))
        for event in group:
            where = f" · {event.location}" if event.location else ""
            pieces.append(row(event.title or "(No title)", hours(event) + where, icon="calendar",
                              avatar=COLOUR, tap=partial(enter, event.id), id="event"))  # fmt: skip
    return pieces


def detail(world: World, screen: Screen) -> Node:
    event = calendar.event(world, int(screen.args["id"]))
    if event is None:
        gone = [space(dp(120)), text("This event was deleted", align="centre")]
        return page(screen, "", gone, up=world.windows.finish)

    def ask() -> None:
        screen.dialog = {"kind": "delete"}

    first, _ = days_of(event)
    pieces: list[Piece] = [
        text(event.title or "(No title)", size=dp(26), id="title_text"),
        space(dp(6)),
        row(when.long_day(first), hours(event), icon="clock_outline", id="when"),
    ]
    if event.location:
        pieces.append(row(event.location, "Location", icon="map_marker_outline", id="where"))
    pieces.append(row("Phone", "Calendar", icon="calendar", id="calendar_name"))
    if event.description:
        pieces += [divider(), header("Description"), text(event.description, id="description")]
    tools = [
        Tool("pencil_outline", "Edit", lambda: world.windows.push(changing(event))),
        Tool("delete_outline", "Delete", ask),
    ]
    return page(screen, "", pieces, up=world.windows.finish, tools=tools)
