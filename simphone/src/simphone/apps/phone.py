"""The Phone app: favourites, recent calls, contacts, and a dial pad to make a call with."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import unquote

from ..providers import calllog, contacts
from ..services.telephony import DIALER, IN_CALL
from ..ui import theme
from ..ui.node import Action, Node, Rect, dp
from ..ui.scaffold import Tool, page, tool_node
from ..ui.screen import Intent, Screen
from ..ui.tabs import Tab, tabs
from ..ui.widgets import Piece, row, space, text
from . import when
from .asking import choose, confirm, tell
from .builtin import MAIN, VIEW, Builtin
from .calling import CALL, CALL_PHONE, DIAL, GREEN, PEOPLE, new_contact, new_message, place_call
from .dial_pad import LONGEST, pad
from .in_call import in_call
from .people import badge, dialled, directory, named

if TYPE_CHECKING:
    from ..world import World

PACKAGE = DIALER
MAIN_SCREEN = ".main.impl.MainActivity"
TABS = (("favourites", "Favourites", "star"), ("recents", "Recents", "clock_outline"),
        ("contacts", "Contacts", "account_multiple"))  # fmt: skip
# The words and the sign of a past call, by its type.
KINDS = {
    calllog.INCOMING: ("Incoming", "phone_incoming"),
    calllog.OUTGOING: ("Outgoing", "phone_outgoing"),
    calllog.MISSED: ("Missed", "phone_missed"),
    calllog.REJECTED: ("Declined", "phone_missed"),
}


class Phone(Builtin):
    package = PACKAGE
    label = "Phone"
    icon = "phone"
    colour = GREEN
    main = MAIN_SCREEN
    permissions: tuple[str, ...] = (CALL_PHONE, "android.permission.READ_CALL_LOG")

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        scheme, _, number = intent.data.partition(":")
        number = unquote(number).removeprefix("//") if scheme.lower() == "tel" else ""
        if intent.action == CALL and number:
            return calling(world, number)
        if intent.action == DIAL or (intent.action == VIEW and number):
            return pad_screen(number)
        if not intent.package:
            return None
        if intent.activity in (IN_CALL, ".InCallActivity"):
            return call_screen(world)
        if intent.activity in (MAIN_SCREEN, PACKAGE + MAIN_SCREEN, ".MainActivity"):
            return Screen(MAIN_SCREEN, {"tab": str(intent.extras.get("tab", "recents"))})
        if intent.action in ("", MAIN) and not intent.activity:
            return Screen(MAIN_SCREEN, {"tab": "recents"})
        return None

    def arrived(self, world: World, screen: Screen) -> None:
        if number := screen.args.pop("dial", ""):
            world.telephony.dial(str(number))

    def resumed(self, world: World, screen: Screen) -> None:
        """Whoever looks at the recent calls has seen the missed ones."""
        if screen.args.get("tab") == "recents":
            calllog.mark_seen(world)

    def view(self, world: World, screen: Screen) -> Node:
        if screen.activity == IN_CALL:
            return in_call(world, screen)
        return pad(world, screen) if screen.args.get("pad") else lists(world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        asked = screen.dialog or {}
        if asked.get("kind") == "call":
            return call_choices(world, screen, int(asked["id"]))
        if asked.get("kind") == "clear":
            return confirm(screen, "Clear call history?", "All calls will be deleted from it.",
                           "Clear", partial(calllog.clear, world))  # fmt: skip
        if asked.get("kind") == "no_network":
            return tell(screen, "Can't call now", "Turn off airplane mode to make a call.")
        return None


def pad_screen(number: str = "") -> Screen:
    return Screen(MAIN_SCREEN, {"pad": True}, {"number": number[:LONGEST]})


def calling(world: World, number: str) -> Screen:
    """The call's screen, which dials as it appears; where no call can be, the pad and why."""
    telephony, plain = world.telephony, dialled(number)
    if telephony.call is not None:
        return call_screen(world)
    if plain and telephony.radio_on:
        return Screen(IN_CALL, {"over": in_front(world), "dial": plain})
    screen = pad_screen(number)
    screen.dialog = {"kind": "no_network"} if plain else None
    return screen


def call_screen(world: World) -> Screen:
    """The call's one screen, wherever it stands; it remembers what it was laid over."""
    for task in world.windows.tasks:
        for screen in task.screens:
            if task.package == PACKAGE and screen.activity == IN_CALL:
                return screen
    return Screen(IN_CALL, {"over": in_front(world)})


def in_front(world: World) -> str:
    front = world.windows.front()
    return front[0] if front else ""


def lists(world: World, screen: Screen) -> Node:
    chosen = str(screen.args.get("tab", "recents"))

    def choose_tab(name: str) -> None:
        screen.args["tab"] = name
        screen.scroll.clear()
        if name == "recents":
            calllog.mark_seen(world)

    rows = {"favourites": favourites, "contacts": everybody}.get(chosen, recents)(world, screen)
    if world.telephony.call is not None:
        back = partial(world.windows.launch, Intent(package=PACKAGE, activity=IN_CALL))
        rows.insert(0, row("Return to call", world.telephony.call.number, icon="phone_in_talk",
                           avatar=GREEN, selected=True, tap=back))  # fmt: skip
    bottom = tabs([Tab(label, icon, partial(choose_tab, name), selected=name == chosen)
                   for name, label, icon in TABS])  # fmt: skip
    tools = []
    if chosen == "recents" and calllog.recent(world, 1):

        def ask() -> None:
            screen.dialog = {"kind": "clear"}

        tools.append(Tool("delete_outline", "Clear call history", ask))
    key_pad = Tool("dialpad", "Dial pad", lambda: world.windows.push(pad_screen()), id="fab")
    return page(screen, "Phone", rows, tools=tools, fab=key_pad, footer=[bottom])


def callable_row(piece: Piece, words: str, call: Action) -> Piece:
    """A row with a call button at its end."""

    def place(x: int, y: int, room: int) -> Node:
        inner = piece(x, y, room - dp(56))
        frame = Rect(x, y, x + room, inner.frame.bottom)
        button = tool_node(Tool("phone", words, call, id="call_button"),
                           x + room - dp(36), frame.centre[1])  # fmt: skip
        return Node(frame, "android.widget.LinearLayout", children=(inner, button))

    return place


def nothing(words: str) -> list[Piece]:
    return [space(dp(150)), text(words, align="centre", colour=theme.TEXT_SOFT)]


def favourites(world: World, screen: Screen) -> list[Piece]:
    starred = [person for person in contacts.contacts(world) if person.starred]
    return person_rows(world, starred) or nothing("No favourites yet")


def everybody(world: World, screen: Screen) -> list[Piece]:
    return person_rows(world, contacts.contacts(world)) or nothing("No contacts yet")


def person_rows(world: World, people: list[contacts.Contact]) -> list[Piece]:
    rows = []
    for person in people:
        look = badge(person.name)
        see = partial(world.windows.launch, Intent(VIEW, f"{PEOPLE}/{person.id}"))
        line = row(person.name, person.phone, avatar=look["avatar"], icon=look["icon"], tap=see)
        if person.phone:
            call = partial(place_call, world, person.phone)
            line = callable_row(line, f"Call {person.name}", call)
        rows.append(line)
    return rows


def recents(world: World, screen: Screen) -> list[Piece]:
    owner, now = directory(world), world.clock.date()

    def ask(call_id: int) -> None:
        screen.dialog = {"kind": "call", "id": call_id}

    rows = []
    for past in calllog.recent(world):
        name = named(owner, past.number)
        words, sign = KINDS.get(past.type, ("Call", "phone"))
        length = f" · {when.lasting(past.duration_s)}" if past.duration_s else ""
        missed = past.type == calllog.MISSED
        line = row(name, f"{words} · {when.brief(past.date_ms, now)}{length}", icon=sign,
                   avatar=theme.DANGER if missed else "#6B7280", bold=missed and past.new,
                   tap=partial(ask, past.id))  # fmt: skip
        call = partial(place_call, world, past.number)
        rows.append(callable_row(line, f"Call {name}", call))
    return rows or nothing("No recent calls")


def call_choices(world: World, screen: Screen, call_id: int) -> Node | None:
    past = next((each for each in calllog.recent(world) if each.id == call_id), None)
    if past is None:
        return None
    go, number = world.windows.launch, past.number
    known = directory(world)(number)
    person = (
        ("account", "View contact", partial(go, Intent(VIEW, f"{PEOPLE}/{known.id}")))
        if known
        else ("account_plus", "Add to contacts", partial(go, new_contact(number)))
    )
    return choose(screen, known.name if known else number, [
        ("phone", "Call back", partial(place_call, world, number)),
        ("message_outline", "Send a message", partial(go, new_message(number))),
        person,
        ("delete_outline", "Delete from call history", partial(calllog.delete, world, call_id)),
    ])  # fmt: skip
