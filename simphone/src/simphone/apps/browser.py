"""The browser: an address field over a page."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..providers.downloads import SUCCESS, downloads
from ..ui import theme
from ..ui.node import WIDTH, Fill, Icon, Label, Node, Rect, dp
from ..ui.scaffold import Tool, dialog, page, tool_node
from ..ui.screen import Intent, Screen
from ..ui.viewport import viewport
from ..ui.widgets import Button, box, line_of, row, text
from ..web import address, controls, cookies
from ..web.document import Document
from ..web.fetch import Wanted
from ..web.layout import page_area
from . import file_kinds
from .asking import confirm
from .browser_errors import error_page
from .browser_loading import (
    DOWNLOADS_ACTIVITY,
    MAIN_ACTIVITY,
    PACKAGE,
    accept_offer,
    drop_offer,
    follow,
    navigate,
    reload,
    submit,
)
from .builtin import VIEW, Builtin
from .opening import open_file

if TYPE_CHECKING:
    from ..world import World

HINT = "Search or type web address"
TOP = theme.STATUS_BAR + theme.APP_BAR
LINE = dp(3)  # of the loading bar


class Browser(Builtin):
    package = PACKAGE
    label = "Browser"
    icon = "web"
    colour = "#2E7D5B"
    main = MAIN_ACTIVITY

    def create(self, world: World) -> None:
        cookies.create(world)

    def open(self, world: World, intent: Intent) -> Screen | None:
        if intent.package not in ("", self.package):
            return None
        named = intent.activity in ("", MAIN_ACTIVITY)
        if intent.action == VIEW and named and intent.data.lower().startswith(("http:", "https:")):
            return Screen(MAIN_ACTIVITY, {"url": intent.data})
        if intent.package and intent.activity == DOWNLOADS_ACTIVITY:
            return Screen(DOWNLOADS_ACTIVITY)
        return super().open(world, intent)

    def arrived(self, world: World, screen: Screen) -> None:
        if screen.args.get("url"):
            reload(world, screen)

    def view(self, world: World, screen: Screen) -> Node:
        if screen.activity == DOWNLOADS_ACTIVITY:
            return downloads_page(world, screen)
        return browser_page(world, screen)

    def dialog(self, world: World, screen: Screen) -> Node | None:
        match screen.dialog:
            case {"kind": "download"}:
                return download_question(world, screen)
            case {"kind": "resend"}:
                return confirm(
                    screen,
                    "Confirm form resubmission",
                    "The page that you're looking for used information that you entered. "
                    "Returning to that page might cause any action that you took to be repeated.",
                    "Continue",
                    partial(reload, world, screen),
                )
            case {"kind": "select", "control": int(number)}:
                return choices(screen, number)
        return None


class Finger:
    """What a touch on the page does."""

    def __init__(self, world: World, screen: Screen) -> None:
        self._world = world
        self._screen = screen

    def follow(self, href: str) -> None:
        follow(self._world, self._screen, href)

    def press(self, control: int) -> None:
        screen, document = self._screen, self._screen.args["page"]
        kind = document["controls"][control]["type"]
        if kind in controls.CHECKS:
            controls.check(document, screen.fields, control)
        elif kind == "select":
            screen.focus = ""
            screen.dialog = {"kind": "select", "control": control}
        elif kind == "reset":
            screen.fields |= controls.first_state(document)
        elif kind != "button":
            screen.focus = ""
            if wanted := controls.submission(document, screen.fields, control):
                submit(self._world, screen, wanted)


def browser_page(world: World, screen: Screen) -> Node:
    bottom = theme.CONTENT_BOTTOM - (theme.KEYBOARD if screen.focus else 0)
    view = Rect(0, TOP, WIDTH, bottom)
    again = partial(reload, world, screen)
    args = screen.args
    document: Document | None = args.get("page")
    if document is not None:
        area = page_area(document, args["heights"], screen, view, Finger(world, screen))
    elif "error" in args:
        area = error_page(args["url"], args["error"], again, view)
    elif "loading" in args and not world.background.running(args["loading"]):
        area = error_page(args["url"], "ERR_NETWORK_CHANGED", again, view)
    else:
        area = Node(view, "android.webkit.WebView", paint=(Fill(theme.SURFACE),),
                    children=() if args.get("url") else new_tab(view))  # fmt: skip
    whole = Rect(0, 0, WIDTH, theme.CONTENT_BOTTOM)
    return Node(whole, "android.widget.FrameLayout", paint=(Fill(theme.SURFACE),),
                children=(area, toolbar(world, screen)))  # fmt: skip


def new_tab(view: Rect) -> tuple[Node, ...]:
    mark = Rect(0, view.top + dp(120), WIDTH, view.top + dp(200))
    words = Rect(0, mark.bottom, WIDTH, mark.bottom + dp(40))
    return (
        box(mark, Icon("web", dp(72), theme.CONTAINER_HIGH)),
        Node(words, "android.widget.TextView", "New tab",
             paint=(Label(("New tab",), theme.SMALL, theme.HINT, "Regular", "centre"),)),
    )  # fmt: skip


def toolbar(world: World, screen: Screen) -> Node:
    middle = theme.STATUS_BAR + theme.APP_BAR // 2
    frame = Rect(0, 0, WIDTH, TOP)
    loading = world.background.running(screen.args.get("loading"))
    right = WIDTH - dp(104)

    def again() -> None:
        if screen.args.get("sent", ["GET"])[0] == "POST":
            screen.focus, screen.dialog = "", {"kind": "resend"}
        else:
            reload(world, screen)

    children = [
        address_field(world, screen, Rect(dp(12), middle - dp(22), right, middle + dp(22))),
        tool_node(Tool("refresh", "Refresh", again, "refresh_button"),
                  right + dp(28), middle),
        tool_node(Tool("download", "Downloads",
                       partial(world.windows.push, Screen(DOWNLOADS_ACTIVITY)), "downloads"),
                  right + dp(76), middle),
        box(Rect(0, TOP - 3, WIDTH, TOP), Fill(theme.LINE)),
    ]  # fmt: skip
    if loading:
        line = Rect(0, TOP - LINE, round(WIDTH * 0.4), TOP)
        children.append(
            Node(line, "android.widget.ProgressBar", desc="Loading", paint=(Fill(theme.PRIMARY),))
        )
    return Node(frame, "android.view.ViewGroup", id="toolbar", paint=(Fill(theme.SURFACE),),
                children=tuple(children))  # fmt: skip


def address_field(world: World, screen: Screen, frame: Rect) -> Node:
    """Shows where one is; a tap empties it for a new address, as typing over a selection does."""
    focused = screen.focus == "url"
    url = str(screen.args.get("url", ""))
    shown = screen.fields.get("url", "") if focused else url.removeprefix("http://")

    def edit() -> None:
        screen.fields["url"] = ""
        screen.focus = "url"

    def go() -> None:
        line = screen.fields.get("url", "").strip()
        screen.focus = ""
        if line:
            navigate(world, Wanted(address.typed(line)))

    inner = Rect(frame.left + dp(40), frame.top, frame.right - dp(14), frame.bottom)
    spot = Rect(frame.left + dp(8), frame.top, frame.left + dp(36), frame.bottom)
    words = shown + "|" if focused else shown
    # While it is edited the end is what matters, otherwise the beginning.
    drawn = line_of(words if not focused else words[-34:], inner, theme.SMALL, theme.TEXT)
    if not words:
        drawn = line_of(HINT, inner, theme.SMALL, theme.HINT)
    return Node(
        frame,
        "android.widget.EditText",
        shown,
        desc=HINT,
        id="url_bar",
        field="url" if focused else "",
        tap=edit,
        submit=go,
        focused=focused,
        paint=(Fill(theme.CONTAINER, dp(22)),),
        children=(
            box(spot, Icon("magnify" if not url or focused else "information_outline", dp(18),
                           theme.TEXT_SOFT)),
            box(inner, drawn),
        ),
    )  # fmt: skip


def choices(screen: Screen, number: int) -> Node:
    control = screen.args["page"]["controls"][number]
    place = controls.key(number)

    def choose(value: str) -> None:
        screen.fields[place] = value
        screen.dialog = None

    options = [
        row(words or " ", trailing_icon="check" if screen.fields.get(place) == value else "",
            tap=partial(choose, value))
        for value, words in control["options"]
    ]  # fmt: skip
    return dialog(control["desc"], pieces=[viewport(screen, "choices", options, dp(400))])


def download_question(world: World, screen: Screen) -> Node:
    offered = screen.args["offer"]

    def answer(keep: bool) -> None:
        screen.dialog = None
        if keep:
            accept_offer(world, screen)
        else:
            drop_offer(world, screen)

    return dialog(
        "Download file?",
        file_kinds.shown(offered["name"]),
        buttons=(
            Button("Cancel", partial(answer, False), "negative_button", "plain"),
            Button("Download", partial(answer, True), "positive_button", "plain"),
        ),
    )


def downloads_page(world: World, screen: Screen) -> Node:
    pieces = [
        row(
            file_kinds.shown(each.title),
            file_kinds.size(each.size) if each.status == SUCCESS else "Failed",
            icon=file_kinds.icon(each.title),
            tap=partial(open_file, world, each.path),
        )
        for each in downloads(world)[:200]
    ]
    if not pieces:
        pieces = [text("Files you download will appear here", colour=theme.TEXT_SOFT)]
    return page(screen, "Downloads", pieces, up=world.windows.back)
