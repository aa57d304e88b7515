"""How is a page had: over which network, through which redirects, with which cookies?"""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..adbd.network import GUEST_LOOPBACK, HOST_LOOPBACK
from . import content, cookies
from .address import Address, BadAddress, fragment, join, parse
from .http import NetError, Reply, Request, exchange

if TYPE_CHECKING:
    from ..world import World

REDIRECTS = (301, 302, 303, 307, 308)
AGENT = (
    "Mozilla/5.0 (Linux; Android 14; sdk_gphone64_x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/113.0.0.0 Mobile Safari/537.36"
)
HEADERS = (
    ("User-Agent", AGENT),
    ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
    ("Accept-Language", "en-US,en;q=0.9"),
)
FORM_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Limits:
    seconds: float = 10.0  # for everything, redirects included
    redirects: int = 5
    page: int = 2 << 20  # bytes of a body
    file: int = 16 << 20  # bytes of a body that is to be downloaded


@dataclass(frozen=True)
class Wanted:
    url: str
    method: str = "GET"
    body: str = ""  # of a form, already encoded


@dataclass(frozen=True)
class Fetched:
    url: str  # where the redirects ended
    reply: Reply


def online(world: World) -> bool:
    settings = world.settings
    if settings.on("global", "airplane_mode_on"):
        return False
    return settings.on("global", "wifi_on") or settings.on("global", "mobile_data")


async def fetch(world: World, wanted: Wanted, limits: Limits = Limits()) -> Fetched:  # noqa: B008
    """NetError with Chrome's name for the reason, always within the limits."""
    try:
        async with asyncio.timeout(limits.seconds):
            for _ in range(limits.redirects + 1):
                address = address_of(wanted.url)
                reply = await ask(world, address, wanted, limits)
                for line in reply.all("set-cookie"):
                    cookies.keep(world, address, line)
                place = reply.header("location")
                if reply.status not in REDIRECTS or not place:
                    return Fetched(with_fragment(address.url, wanted.url), reply)
                wanted = redirected(wanted, reply.status, place)
    except TimeoutError:
        raise NetError("ERR_TIMED_OUT") from None
    raise NetError("ERR_TOO_MANY_REDIRECTS")


def address_of(url: str) -> Address:
    try:
        return parse(url)
    except BadAddress as error:
        known = url.lower().startswith(("http:", "https:"))
        raise NetError("ERR_INVALID_URL" if known else "ERR_UNKNOWN_URL_SCHEME") from error


def redirected(wanted: Wanted, status: int, place: str) -> Wanted:
    try:
        url = with_fragment(join(wanted.url, place), wanted.url)
    except BadAddress as error:
        raise NetError("ERR_INVALID_REDIRECT") from error
    if status in (307, 308):
        return replace(wanted, url=url)
    return Wanted(url)


def with_fragment(url: str, former: str) -> str:
    """A redirect keeps the fragment unless it brings its own."""
    mark = fragment(former)
    return f"{url}#{mark}" if mark and not fragment(url) else url


async def ask(world: World, address: Address, wanted: Wanted, limits: Limits) -> Reply:
    if address.host not in GUEST_LOOPBACK:
        reachable(world, address.host)
    try:
        wire = await world.network.connect(address.host, address.port)
    except OSError as error:
        raise NetError("ERR_CONNECTION_REFUSED") from error
    try:
        if address.scheme == "https":
            # No authority of this phone could have signed for a host behind 10.0.2.2.
            raise NetError("ERR_CERT_AUTHORITY_INVALID")
        headers = [*HEADERS]
        if jar := cookies.header(world, address):
            headers.append(("Cookie", jar))
        if wanted.method == "POST":
            headers.append(("Content-Type", FORM_TYPE))
        request = Request(
            wanted.method, address.authority, address.target, headers, wanted.body.encode()
        )
        return await exchange(
            wire, request, lambda head: limits.file if content.is_file(head) else limits.page
        )
    finally:
        wire.close()


def reachable(world: World, host: str) -> None:
    """The phone's network has one host in it."""
    if not online(world):
        raise NetError("ERR_INTERNET_DISCONNECTED")
    if host == HOST_LOOPBACK:
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise NetError("ERR_NAME_NOT_RESOLVED") from None
    raise NetError("ERR_ADDRESS_UNREACHABLE")
