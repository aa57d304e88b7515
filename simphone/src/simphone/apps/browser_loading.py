"""How a page comes into a browser's screen: the tap returns at once, the page follows.

A screen's args: `url`, and then one of `loading` (the id of a background task), `error` (Chrome's
code) or `page` with `heights` (document.py). A load that a snapshot caught under way is over when
the snapshot is loaded, and is shown as interrupted. `offer` is a file that waits for the person's
word; its bytes lie in the app's cache.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ..providers import downloads
from ..ui.screen import Intent, Screen
from ..web import content, cookies
from ..web.address import BadAddress, fragment, join, same_page
from ..web.controls import first_state
from ..web.document import Document, of_image, of_text
from ..web.fetch import Fetched, Wanted, fetch
from ..web.http import NetError
from ..web.layout import heights
from ..web.parse import parse_html
from .builtin import VIEW

if TYPE_CHECKING:
    from ..world import World

PACKAGE = "com.android.chrome"
MAIN_ACTIVITY = "com.google.android.apps.chrome.Main"
DOWNLOADS_ACTIVITY = "org.chromium.chrome.browser.download.DownloadActivity"
CACHE = f"/data/data/{PACKAGE}/cache/downloads"
MOST_PAGES = 12  # on the back stack
SMALL = 65536  # letters that are parsed while everybody waits
BLANK = ("", "about:blank", "chrome://newtab")


def navigate(world: World, wanted: Wanted) -> None:
    """The browser in front goes on to another page; back returns."""
    screen = Screen(MAIN_ACTIVITY)
    begin(world, screen, wanted)
    world.windows.push(screen)
    screens = world.windows.tasks[-1].screens
    del screens[1 : len(screens) - MOST_PAGES]


def begin(world: World, screen: Screen, wanted: Wanted) -> None:
    stop(world, screen)
    screen.args = {"url": wanted.url, "sent": [wanted.method, wanted.body]}
    screen.fields, screen.focus, screen.dialog = {}, "", None
    if wanted.url in BLANK:
        screen.args = {"url": ""}
        return
    screen.args["loading"] = world.background.start(load(world, screen, wanted))


def stop(world: World, screen: Screen) -> None:
    """A load that is under way comes to nothing."""
    world.background.cancel(screen.args.pop("loading", None))
    drop_offer(world, screen)


def reload(world: World, screen: Screen) -> None:
    method, body = screen.args.get("sent", ["GET", ""])
    begin(world, screen, Wanted(screen.args.get("url", ""), method, body))


async def load(world: World, screen: Screen, wanted: Wanted) -> None:
    try:
        fetched = await fetch(world, wanted)
        if content.kind(fetched.reply) == "file":
            if on_stack(world, screen):
                offer(world, screen, fetched)
            return
        page = await document_of(fetched)
    except NetError as error:
        fail(world, screen, error.code)
        return
    if on_stack(world, screen):
        show(world, screen, fetched.url, page)


async def document_of(fetched: Fetched) -> Document:
    reply, url = fetched.reply, fetched.url
    kind = content.kind(reply)
    title = content.file_name(reply, url)
    if kind == "image":
        return of_image(url, title, title)
    words = content.text(reply)
    if kind == "text":
        return of_text(url, title, words)
    if len(words) <= SMALL:
        return parse_html(words, url)
    return await asyncio.to_thread(parse_html, words, url)


def on_stack(world: World, screen: Screen) -> bool:
    """Whether anybody can still come to see it."""
    return any(screen is each for task in world.windows.tasks for each in task.screens)


def fail(world: World, screen: Screen, code: str) -> None:
    screen.args.pop("loading", None)
    screen.args["error"] = code
    world.logcat.write("chromium", f"[ERROR] {code} {screen.args['url'][:200]}", level="E")
    world.windows.moved()


def show(world: World, screen: Screen, url: str, page: Document) -> None:
    screen.args.pop("loading", None)
    screen.args |= {"url": url, "page": page, "heights": heights(page)}
    if page["animating"]:
        screen.args["animating"] = True
    # What was typed into the address field meanwhile stays.
    screen.fields = first_state(page) | screen.fields
    screen.scroll = {}
    scroll_to(screen, fragment(url))
    cookies.visited(world, url, page["title"])
    world.windows.moved()


def scroll_to(screen: Screen, anchor: str) -> None:
    number = screen.args["page"]["anchors"].get(anchor)
    if number is not None:
        screen.scroll["page"] = sum(screen.args["heights"][:number])


def follow(world: World, screen: Screen, href: str) -> None:
    """A tap on a link."""
    scheme = href.partition(":")[0].lower()
    if fragment(href) and same_page(href, screen.args["url"]):
        scroll_to(screen, fragment(href))
    elif scheme in ("http", "https"):
        navigate(world, Wanted(href))
    elif scheme not in ("javascript", "data", "about", "blob", "file", "content"):
        # tel:, sms:, mailto: and their like are for other apps; where none answers, nothing is.
        world.windows.launch(Intent(VIEW, data=href))


def submit(world: World, screen: Screen, wanted: Wanted) -> None:
    try:
        url = join(screen.args["url"], wanted.url)
    except BadAddress:
        return
    navigate(world, Wanted(url, wanted.method, wanted.body))


# Downloads


def offer(world: World, screen: Screen, fetched: Fetched) -> None:
    """Asks before a file is kept, over the page that led to it."""
    name = content.file_name(fetched.reply, fetched.url)
    token = secrets.token_hex(8)
    spool(world, token).write_bytes(fetched.reply.body)
    asking = step_back(world, screen)
    drop_offer(world, asking)
    asking.args["offer"] = {"url": fetched.url, "name": name, "token": token}
    asking.dialog, asking.focus = {"kind": "download"}, ""
    world.windows.moved()


def step_back(world: World, screen: Screen) -> Screen:
    """A file is no page: the screen before this one, or this one with a new tab in it."""
    for task in world.windows.tasks:
        for before, each in zip(task.screens, task.screens[1:], strict=False):
            if each is screen:
                task.screens.remove(each)
                return before
    screen.args = {"url": ""}
    return screen


def spool(world: World, token: str) -> Path:
    return world.disk.own(f"{CACHE}/{token}")


def drop_offer(world: World, screen: Screen) -> None:
    if offered := screen.args.pop("offer", None):
        spool(world, offered["token"]).unlink(missing_ok=True)


def accept_offer(world: World, screen: Screen) -> str:
    """Keeps the file; returns where."""
    offered = screen.args["offer"]
    number = downloads.begin(world, offered["url"], offered["name"], PACKAGE)
    path = downloads.finish(world, number, spool(world, offered["token"]).read_bytes())
    drop_offer(world, screen)
    package = world.packages.get(PACKAGE)
    world.notifications.post(
        PACKAGE, "Download complete", path.rpartition("/")[2], id=number, tag="download",
        uid=package.uid if package else 1000, activity=DOWNLOADS_ACTIVITY,
    )  # fmt: skip
    return path
