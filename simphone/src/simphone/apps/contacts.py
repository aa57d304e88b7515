"""The Contacts app: everybody, one person, and the form that makes or changes one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..providers import contacts
from ..providers.uri import parse
from ..ui import theme
from ..ui.node import Node, Rect, dp
from ..ui.scaffold import Tool, page
from ..ui.screen import Intent, Screen
from ..ui.widgets import Button, Piece, bar, divider, field, header, row, space, text
from .asking import confirm, error
from .builtin import VIEW, Builtin
from .calling import new_message, place_call
from .extras import whole
from .people import badge, dialled, face

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.android.contacts"
LIST = ".activities.PeopleActivity"
PERSON = ".quickcontact.QuickContactActivity"
FORM = ".activities.ContactEditorActivity"
INSERTS = ("android.intent.action.INSERT", "android.intent.action.INSERT_OR_EDIT")
EDIT = "android.intent.action.EDIT"
MIMES = tuple(f"vnd.android.cursor.{kind}" for kind in
              ("dir/contact", "dir/raw_contact", "dir/person", "item/contact"))  # fmt: skip


class Contacts(Builtin):
    package = PACKAGE
    label = "Contacts"
    icon = "account"
    colour = "#2F6FDE"
    main = LIST
    permissions: tuple[str, ...] = (
        "android.permission.READ_CONTACTS",
        "android.permission.WRITE_CONTACTS",
    )

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        uri = parse(intent.data)
        people = uri.authority == PACKAGE and uri.path[:1] in (("contacts",), ("raw_contacts",))
        if intent.action in INSERTS and (people or intent.mime in MIMES):
            return prefilled(intent)
        if intent.action in (VIEW, EDIT) and people:
            known = contacts.contact(world, whole(uri.path[-1]) or 0)
            if known is None:
                return Screen(LIST)
            return Screen(PERSON, {"id": known.id}) if intent.action == VIEW else form(known)
        if intent.package and intent.activity in self.names(FORM):
            return prefilled(intent)
        return super().open(world, intent)

    def view(self, world: World, screen: Screen) -> Node:
        views = {LIST: everybody, PERSON: person, FORM: editor}
        return views[screen.activity](world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        if not screen.dialog or screen.dialog.get("kind") != "delete":
            return None

        def delete() -> None:
            contacts.delete_contact(world, int(screen.args["id"]))
            world.windows.finish()

        return confirm(screen, "Delete contact?", "This contact will be removed from the phone.",
                       "Delete", delete)  # fmt: skip


def form(known: contacts.Contact | None = None) -> Screen:
    """The form, filled with what is known."""
    if known is None:
        return Screen(FORM)
    given, _, family = known.name.partition(" ")
    fields = {"first": given, "last": family, "phone": known.phone, "email": known.email}
    return Screen(FORM, {"id": known.id}, fields)


def prefilled(intent: Intent) -> Screen:
    """The form, filled with what the caller knows."""
    extra = {key: str(intent.extras.get(key) or "") for key in ("name", "phone", "email")}
    given, _, family = extra["name"].strip().partition(" ")
    fields = {"first": given, "last": family, "phone": extra["phone"], "email": extra["email"]}
    return Screen(FORM, fields={key: value for key, value in fields.items() if value})


def everybody(world: World, screen: Screen) -> Node:
    found = contacts.search(world, screen.fields.get("search", ""))

    def enter(contact_id: int) -> None:
        world.windows.push(Screen(PERSON, {"id": contact_id}))

    pieces: list[Piece] = [field(screen, "search", "Search contacts", id="search_view")]
    letter = None
    for each in found:
        initial = each.name[:1].upper() if each.name[:1].isalpha() else "#"
        if initial != letter:
            pieces.append(header(initial))
            letter = initial
        look = badge(each.name)
        pieces.append(row(each.name or "(No name)", each.phone or each.email,
                          avatar=look["avatar"], icon=look["icon"],
                          trailing_icon="star" if each.starred else "",
                          tap=partial(enter, each.id), id="contact"))  # fmt: skip
    if not found:
        words = "No contacts found" if screen.fields.get("search") else "No contacts yet"
        pieces += [space(dp(120)), text(words, align="centre", colour=theme.TEXT_SOFT)]
    create = Tool("plus", "Create contact", lambda: world.windows.push(form()),
                  id="floating_action_button")  # fmt: skip
    return page(screen, "Contacts", pieces, fab=create)


def portrait(name: str) -> Piece:
    def place(x: int, y: int, room: int) -> Node:
        disc = face(name, x + room // 2, y + dp(60), dp(48))
        return Node(Rect(x, y, x + room, disc.frame.bottom + dp(12)), "", children=(disc,))

    return place


def person(world: World, screen: Screen) -> Node:
    known = contacts.contact(world, int(screen.args["id"]))
    if known is None:
        gone = [space(dp(120)), text("This contact was deleted", align="centre")]
        return page(screen, "", gone, up=world.windows.finish)

    def star() -> None:
        contacts.set_starred(world, known.id, starred=not known.starred)

    def ask() -> None:
        screen.dialog = {"kind": "delete"}

    text_them = partial(world.windows.launch, new_message(known.phone))
    pieces: list[Piece] = [
        portrait(known.name),
        text(known.name or "(No name)", size=dp(26), align="centre", id="large_title"),
        space(dp(4)),
    ]
    if known.phone:
        pieces.append(
            bar(Button("Call", partial(place_call, world, known.phone), "verb_call", "soft"),
                Button("Text", text_them, "verb_text", "soft"), stretch=True)
        )  # fmt: skip
    pieces += [space(dp(8)), divider(), header("Contact info")]
    for phone in known.phones:
        pieces.append(row(phone, "Mobile", icon="phone", tap=partial(place_call, world, phone)))
    pieces += [row(email, "Home", icon="email_outline") for email in known.emails]
    if known.note:
        pieces.append(row("Note", known.note, icon="note_text", most=6))
    if not (known.phones or known.emails or known.note):
        pieces.append(text("No phone number or email", colour=theme.TEXT_SOFT))
    tools = [
        Tool("star" if known.starred else "star_outline",
             "Remove from favourites" if known.starred else "Add to favourites", star),
        Tool("pencil_outline", "Edit contact", lambda: world.windows.push(form(known))),
        Tool("delete_outline", "Delete contact", ask),
    ]  # fmt: skip
    return page(screen, "", pieces, up=world.windows.finish, tools=tools)


def editor(world: World, screen: Screen) -> Node:
    changed = int(screen.args.get("id", 0))

    def save() -> None:
        values = {key: screen.fields.get(key, "").strip()
                  for key in ("first", "last", "phone", "email")}  # fmt: skip
        name = f"{values['first']} {values['last']}".strip()
        phone, email = values["phone"], values["email"]
        if wrong := mistake(name, phone, email):
            screen.args["error"] = wrong
            return
        known = contacts.contact(world, changed) if changed else None
        if known is not None:
            contacts.update_contact(world, changed, name, phone, email, known.note)
            world.windows.finish()
        else:
            created = contacts.add_contact(world, name, phone, email)
            world.windows.replace(Screen(PERSON, {"id": created}))

    pieces: list[Piece] = [
        *error(str(screen.args.get("error", ""))),
        field(screen, "first", "First name"),
        field(screen, "last", "Last name"),
        field(screen, "phone", "Phone"),
        field(screen, "email", "Email"),
    ]
    buttons = bar(Button("Cancel", world.windows.finish, "cancel", "plain"),
                  Button("Save", save, "editor_menu_save_button"))  # fmt: skip
    title = "Edit contact" if changed else "Create contact"
    return page(screen, title, pieces, up=world.windows.finish, footer=[buttons])


def mistake(name: str, phone: str, email: str) -> str:
    """What is wrong with a person to be saved; empty where nothing is."""
    if not name:
        return "Enter a name"
    if phone and not dialled(phone):
        return "Enter a phone number like +1 555 0100"
    if email and ("@" not in email or " " in email):
        return "Enter an email address like name@example.com"
    return ""
