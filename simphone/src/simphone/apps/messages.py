"""The Messages app: conversations, what is said in them, and a new one."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote

from ..providers import contacts, sms
from ..providers.numbers import normalized, same
from ..ui import theme
from ..ui.conversation import bubble, composer
from ..ui.node import Node, dp
from ..ui.scaffold import Tool, page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Piece, field, row, space, text
from . import drafts, when
from .asking import choose, confirm, error
from .builtin import VIEW, Builtin
from .calling import place_call
from .extras import whole
from .people import badge, dialled, directory, named

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.android.messaging"
LIST = ".ui.conversationlist.ConversationListActivity"
CONVERSATION = ".ui.conversation.ConversationActivity"
SENDTO = "android.intent.action.SENDTO"
SCHEMES = ("sms", "smsto", "mms", "mmsto")
WAITING = (sms.QUEUED, sms.OUTBOX)


class Messages(Builtin):
    package = PACKAGE
    label = "Messages"
    icon = "message_text"
    colour = "#1A73E8"
    main = LIST
    permissions: tuple[str, ...] = (
        "android.permission.READ_SMS",
        "android.permission.SEND_SMS",
        "android.permission.RECEIVE_SMS",
    )

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        scheme, _, rest = intent.data.partition(":")
        if intent.action in (SENDTO, VIEW) and scheme.lower() in SCHEMES:
            return addressed(rest, intent)
        if intent.package and intent.activity.endswith(".ConversationActivity"):
            thread = sms.thread(world, whole(intent.extras.get("thread_id")) or 0)
            return conversation_with(thread.address) if thread else Screen(LIST)
        return super().open(world, intent)

    def create(self, world: World) -> None:
        drafts.create(world)

    def resumed(self, world: World, screen: Screen) -> None:
        """Whoever sees a conversation has read what it says."""
        if number := str(screen.args.get("number") or ""):
            read(world, number)
            if not screen.fields.get("message"):
                screen.fields["message"] = drafts.draft(world, number)

    def paused(self, world: World, screen: Screen) -> None:
        if number := str(screen.args.get("number") or ""):
            drafts.keep(world, number, screen.fields.get("message", ""))

    def view(self, world: World, screen: Screen) -> Node:
        if screen.activity == LIST:
            return conversations(world, screen)
        return conversation(world, screen) if screen.args.get("number") else new(world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        asked = screen.dialog or {}
        if asked.get("kind") == "message":
            return message_choices(world, screen, int(asked["id"]))
        if asked.get("kind") == "delete":
            return confirm_delete(world, screen, int(asked["thread_id"]))
        return None


def addressed(rest: str, intent: Intent) -> Screen:
    """What sms:NUMBER?body=TEXT leads to; the first number where there are several."""
    numbers, _, query = rest.removeprefix("//").partition("?")
    number = unquote(numbers).replace(";", ",").partition(",")[0].strip()
    body = (parse_qs(query).get("body") or [""])[0]
    body = body or str(intent.extras.get("sms_body") or intent.extras.get("body") or "")
    screen = conversation_with(number) if number else new_conversation()
    screen.fields["message"] = body
    return screen


def new_conversation() -> Screen:
    return Screen(CONVERSATION, {"number": ""}, focus="to")


def conversation_with(number: str) -> Screen:
    return Screen(CONVERSATION, {"number": number})


def read(world: World, number: str) -> None:
    thread = thread_with(world, number)
    if thread is None:
        return
    sms.mark_read(world, thread.id)
    for posted in world.notifications.all():
        about = json.loads(posted.args or "{}")
        if posted.package == PACKAGE and about.get("thread_id") == thread.id:
            world.notifications.cancel(posted.key)


def thread_with(world: World, number: str) -> sms.Thread | None:
    """Looked for without making one, as the provider would."""
    return next((each for each in sms.threads(world) if same(each.address, number)), None)


def conversations(world: World, screen: Screen) -> Node:
    owner, now = directory(world), world.clock.date()

    def enter(number: str) -> None:
        world.windows.push(conversation_with(number))

    def ask(thread_id: int) -> None:
        screen.dialog = {"kind": "delete", "thread_id": thread_id}

    pieces: list[Piece] = []
    unsent = drafts.drafts(world)
    for thread in sms.threads(world):
        name = named(owner, thread.address)
        look = badge(name)
        draft = unsent.pop(normalized(thread.address), "")
        shown = f"Draft: {draft}" if draft else thread.snippet
        pieces.append(
            row(name, shown, bold=not thread.read, most=1, id="conversation",
                avatar=look["avatar"], icon=look["icon"],
                trailing=when.brief(thread.date_ms, now),
                tap=partial(enter, thread.address), hold=partial(ask, thread.id))
        )  # fmt: skip
    pieces += [row(named(owner, number), f"Draft: {draft}", icon="pencil_outline", most=1,
                   tap=partial(enter, number)) for number, draft in unsent.items()]  # fmt: skip
    if not pieces:
        pieces = [space(dp(150)), text("No conversations yet", align="centre", weight="Medium"),
                  text("Start a chat and it will appear here.", align="centre",
                       size=theme.SMALL, colour=theme.TEXT_SOFT)]  # fmt: skip
    start = Tool("message_outline", "Start chat", lambda: world.windows.push(new_conversation()),
                 id="start_new_conversation_button")  # fmt: skip
    return page(screen, "Messages", pieces, fab=start)


def new(world: World, screen: Screen) -> Node:
    typed = screen.fields.get("to", "").strip()

    def choose_number(number: str) -> None:
        chosen = conversation_with(number)
        chosen.fields["message"] = screen.fields.get("message", "")
        chosen.focus = "message"
        world.windows.replace(chosen)

    def submit() -> None:
        known = contacts.by_name(world, typed)
        if number := dialled(typed) or (known.phone if known else ""):
            choose_number(number)
        else:
            screen.args["error"] = "Enter a phone number or choose a contact"

    pieces: list[Piece] = [
        field(screen, "to", "To", id="recipient_text_view", submit=submit),
        *error(str(screen.args.get("error", ""))),
    ]
    if number := dialled(typed):
        pieces.append(row(f"Send to {typed}", "New recipient", icon="account_plus",
                          tap=partial(choose_number, number)))  # fmt: skip
    for person in contacts.search(world, typed):
        look = badge(person.name)
        pieces += [row(person.name, phone, avatar=look["avatar"], icon=look["icon"],
                       tap=partial(choose_number, phone)) for phone in person.phones]  # fmt: skip
    done = Tool("check", "Done", submit, id="action_done")
    return page(screen, "New conversation", pieces, up=world.windows.finish, tools=[done])


def conversation(world: World, screen: Screen) -> Node:
    number = str(screen.args["number"])
    thread = thread_with(world, number)
    today = world.clock.date().date()
    name = named(directory(world), number)

    def send() -> None:
        if body := screen.fields.get("message", "").strip():
            screen.fields["message"] = ""
            screen.scroll.pop("list", None)
            world.telephony.send_sms(number, body)

    def ask(kind: str, **which: int) -> None:
        screen.dialog = {"kind": kind, **which}

    pieces: list[Piece] = []
    shown = None
    for message in sms.messages(world, thread.id) if thread else []:
        day = when.moment(message.date_ms).date()
        if day != shown:
            pieces.append(text(when.day_heading(day, today), align="centre", size=theme.TINY,
                               colour=theme.TEXT_SOFT, gap=dp(10)))  # fmt: skip
            shown = day
        pieces.append(spoken(world, message, partial(ask, "message", id=message.id)))
    if thread is None:
        pieces = [space(dp(80)), text(f"Texting {name}", align="centre", colour=theme.TEXT_SOFT)]
    tools = [Tool("phone", "Call", partial(place_call, world, number), id="action_call")]
    if thread is not None:
        delete = partial(ask, "delete", thread_id=thread.id)
        tools.append(Tool("delete_outline", "Delete conversation", delete, id="action_delete"))
    return page(screen, name, pieces, up=world.windows.finish, tools=tools, from_end=True,
                footer=[composer(screen, "message", "Text message", send)])  # fmt: skip


def spoken(world: World, message: sms.Message, hold: Callable[[], None]) -> Piece:
    def again() -> None:
        sms.delete_message(world, message.id)
        world.telephony.send_sms(message.address, message.body)

    def follow(address: str) -> None:
        world.windows.launch(Intent(VIEW, address))

    failed = message.type == sms.FAILED
    foot = when.clock(message.date_ms)
    if message.type in WAITING:
        foot = "Sending…"
    elif failed:
        foot = "Not sent. Tap to try again."
    elif message.type == sms.SENT:
        foot += " · Sent"
    return bubble(message.body, mine=message.type != sms.INBOX, foot=foot, wrong=failed,
                  tap=again if failed else None, hold=hold, follow=follow)  # fmt: skip


def message_choices(world: World, screen: Screen, message_id: int) -> Node | None:
    message = sms.message(world, message_id)
    if message is None:
        return None

    def copy() -> None:
        world.clipboard.text = message.body

    def delete() -> None:
        sms.delete_message(world, message.id)

    return choose(screen, "Message", [
        ("content_copy", "Copy text", copy),
        ("delete_outline", "Delete", delete),
    ])  # fmt: skip


def confirm_delete(world: World, screen: Screen, thread_id: int) -> Node:
    def delete() -> None:
        sms.delete_thread(world, thread_id)
        if screen.activity != LIST:
            screen.fields["message"] = ""
            world.windows.finish()

    return confirm(screen, "Delete this conversation?", "Its messages cannot be brought back.",
                   "Delete", delete)  # fmt: skip
