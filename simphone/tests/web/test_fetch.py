"""How a page is had: networks, redirects, cookies, and servers that lie."""

from __future__ import annotations

import asyncio

import pytest

from simphone.adbd.network import Wire
from simphone.web import content
from simphone.web.fetch import Fetched, Limits, Wanted, fetch
from simphone.web.http import NetError
from simphone.world import World
from tests.web.site import Answer, Site, saying

QUICK = Limits(seconds=0.3)


async def code_of(world: World, url: str, limits: Limits = QUICK) -> str:
    with pytest.raises(NetError) as failed:
        await fetch(world, Wanted(url), limits)
    return failed.value.code


async def test_the_host_is_reached_at_10_0_2_2(world: World, site: Site) -> None:
    site.page("/x", "<p>hello")
    fetched = await fetch(world, Wanted(f"{site.url}/x?q=1"))
    assert (fetched.reply.status, fetched.reply.body) == (200, b"<p>hello")
    assert site.asked[0].path == "/x?q=1"
    assert site.asked[0].headers["host"] == f"10.0.2.2:{site.port}"
    assert "Android 14" in site.asked[0].headers["user-agent"]


async def test_loopback_is_the_phone_itself_and_what_adb_reverse_put_there(world: World) -> None:
    async def serve(wire: Wire) -> None:
        await wire.read()
        await wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        wire.close()

    port = world.network.listen(0, serve)
    world.settings.put("global", "airplane_mode_on", "1")
    fetched = await fetch(world, Wanted(f"http://localhost:{port}/"))
    assert fetched.reply.body == b"hi"
    assert await code_of(world, "http://127.0.0.1:1/") == "ERR_CONNECTION_REFUSED"


async def test_there_is_nobody_else_in_the_phones_network(world: World, site: Site) -> None:
    assert await code_of(world, "http://example.com/") == "ERR_NAME_NOT_RESOLVED"
    assert await code_of(world, "http://192.168.1.1/") == "ERR_ADDRESS_UNREACHABLE"
    secure = site.url.replace("http:", "https:")
    assert await code_of(world, secure) == "ERR_CERT_AUTHORITY_INVALID"
    assert await code_of(world, "ftp://10.0.2.2/") == "ERR_UNKNOWN_URL_SCHEME"
    assert site.asked == []


@pytest.mark.parametrize(
    ("wifi", "mobile", "airplane", "reached"),
    [("1", "0", "0", True), ("0", "1", "0", True), ("0", "0", "0", False), ("1", "1", "1", False)],
)
async def test_without_wifi_and_mobile_data_there_is_no_internet(
    world: World, site: Site, wifi: str, mobile: str, airplane: str, reached: bool
) -> None:
    for name, value in (("wifi_on", wifi), ("mobile_data", mobile), ("airplane_mode_on", airplane)):
        world.settings.put("global", name, value)
    if reached:
        assert (await fetch(world, Wanted(site.url))).reply.status == 404
    else:
        assert await code_of(world, site.url) == "ERR_INTERNET_DISCONNECTED"


async def test_a_redirect_is_followed_with_the_method_the_status_says(
    world: World, site: Site
) -> None:
    for path, status in (("/see", 303), ("/keep", 307)):
        site.pages[path] = Answer(status=status, headers=(("Location", "/end"),))
    site.page("/end", "done")
    for path in ("/see", "/keep"):
        fetched = await fetch(world, Wanted(f"{site.url}{path}#part", "POST", "a=1"))
        assert fetched.url == f"{site.url}/end#part"
    assert [(asked.method, asked.body) for asked in site.asked] == [
        ("POST", "a=1"), ("GET", ""), ("POST", "a=1"), ("POST", "a=1"),
    ]  # fmt: skip


async def test_endless_redirects_end(world: World, site: Site) -> None:
    site.pages["/loop"] = Answer(status=302, headers=(("Location", "/loop"),))
    assert await code_of(world, f"{site.url}/loop") == "ERR_TOO_MANY_REDIRECTS"
    assert len(site.asked) == 6


async def test_cookies_go_back_to_their_host_until_they_expire(world: World, site: Site) -> None:
    site.pages["/in"] = Answer(headers=(
        ("Set-Cookie", "sid=abc; Path=/; HttpOnly"), ("Set-Cookie", "deep=1; Path=/only"),
        ("Set-Cookie", "long=x; Max-Age=1000; Path=/"), ("Set-Cookie", "broken"),
    ))  # fmt: skip
    site.pages["/out"] = Answer(headers=(("Set-Cookie", "sid=; Max-Age=0; Path=/"),))
    for path in ("/in", "/next", "/only/here", "/out", "/after"):
        await fetch(world, Wanted(f"{site.url}{path}"))
    sent = [asked.headers.get("cookie", "") for asked in site.asked]
    assert sent == ["", "sid=abc; long=x", "deep=1; sid=abc; long=x", "sid=abc; long=x", "long=x"]
    world.clock.set_date(world.clock.now() + 2000)
    await fetch(world, Wanted(f"{site.url}/later"))
    assert "cookie" not in site.asked[-1].headers


OK = b"HTTP/1.1 200 OK\r\n"
LIES = {
    b"": "ERR_EMPTY_RESPONSE",
    b"\xff\xfe\x00garbage\r\n\r\n": "ERR_INVALID_HTTP_RESPONSE",
    b"SSH-2.0-OpenSSH\r\n": "ERR_INVALID_HTTP_RESPONSE",
    b"HTTP/1.1 999 No\r\n\r\n": "ERR_INVALID_HTTP_RESPONSE",
    OK + b"no colon here\r\n\r\nx": "ERR_INVALID_HTTP_RESPONSE",
    OK + b"bad name : x\r\n\r\n": "ERR_INVALID_HTTP_RESPONSE",
    OK + b"X: " + b"a" * 70_000: "ERR_RESPONSE_HEADERS_TOO_BIG",
    OK + b"X: y\r\n" * 500 + b"\r\n": "ERR_RESPONSE_HEADERS_TOO_BIG",
    OK + b"Content-Length: 100\r\n\r\nshort": "ERR_CONTENT_LENGTH_MISMATCH",
    OK + b"Content-Length: -1\r\n\r\n": "ERR_INVALID_HTTP_RESPONSE",
    OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab":
        "ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH",
    OK + b"Content-Type: text/html\r\nContent-Length: 99999999999\r\n\r\n": "ERR_FILE_TOO_BIG",
    OK + b"Content-Type: text/html\r\n\r\n" + b"x" * (3 << 20): "ERR_FILE_TOO_BIG",
    OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n": "ERR_INVALID_CHUNKED_ENCODING",
    OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab": "ERR_INCOMPLETE_CHUNKED_ENCODING",
    OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabX\r\n": "ERR_INVALID_CHUNKED_ENCODING",
    OK + b"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n":
        "ERR_INCOMPLETE_CHUNKED_ENCODING",
    OK + b"Content-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    + (b"FFFF\r\n" + b"x" * 0xFFFF + b"\r\n") * 40: "ERR_FILE_TOO_BIG",
    OK + b"Transfer-Encoding: gzip\r\n\r\nx": "ERR_INVALID_HTTP_RESPONSE",
    b"HTTP/2.0 200 OK\r\n\r\n": "ERR_INVALID_HTTP_RESPONSE",
    OK + b"Content-Encoding: gzip\r\n\r\nx": "ERR_CONTENT_DECODING_FAILED",
    OK[:12]: "ERR_CONNECTION_CLOSED",
    b"HTTP/1.1 302 Found\r\nLocation: http://[\r\n\r\n": "ERR_INVALID_REDIRECT",
    b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n": "ERR_UNKNOWN_URL_SCHEME",
}  # fmt: skip


@pytest.mark.parametrize("said", LIES, ids=lambda said: said[:40].decode("ascii", "replace"))
async def test_a_lying_server_is_named_for_what_it_does(world: World, said: bytes) -> None:
    async with saying(said) as port:
        assert await code_of(world, f"http://10.0.2.2:{port}/", Limits(seconds=5)) == LIES[said]


async def test_a_server_of_another_protocol_is_not_waited_for(world: World) -> None:
    async with saying(b"SSH-2.0-OpenSSH\r\n", hold=True) as port:
        url = f"http://10.0.2.2:{port}/"
        assert await code_of(world, url, Limits(seconds=60)) == "ERR_INVALID_HTTP_RESPONSE"


@pytest.mark.parametrize("said", [b"", OK, OK + b"Content-Length: 9\r\n\r\nslow"])
async def test_a_silent_server_is_given_up_on(world: World, said: bytes) -> None:
    async with saying(said, hold=True) as port:
        assert await code_of(world, f"http://10.0.2.2:{port}/") == "ERR_TIMED_OUT"


async def test_chunks_are_joined_and_extra_bytes_after_the_length_are_not_read(
    world: World,
) -> None:
    async def body(said: bytes) -> bytes:
        async with saying(said) as port:
            return (await fetch(world, Wanted(f"http://10.0.2.2:{port}/"))).reply.body

    chunked = b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    assert await body(OK + chunked) == b"abcde"
    assert await body(OK + b"Content-Length: 2\r\n\r\nabcdef") == b"ab"
    assert await body(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\nrest") == b"rest"


async def test_a_cancelled_fetch_hangs_up(world: World) -> None:
    hung_up = asyncio.Event()
    asked = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await reader.read()
        hung_up.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def visit() -> None:
        await fetch(world, Wanted(f"http://10.0.2.2:{port}/"))

    name = world.background.start(visit())
    await asked.wait()
    assert world.background.running(name)
    world.background.cancel_all()
    async with asyncio.timeout(60):
        await hung_up.wait()
    assert not world.background.running(name)
    server.close()


@pytest.mark.parametrize(
    ("mime", "disposition", "kind"),
    [
        ("text/html; charset=x", "", "html"),
        ("application/json", "", "text"),
        ("image/png", "", "image"),
        ("application/pdf", "", "file"),
        ("text/html", "attachment; filename=a.html", "file"),
        ("", "", "html"),
    ],
)
async def test_what_is_shown_and_what_is_downloaded(
    world: World, site: Site, mime: str, disposition: str, kind: str
) -> None:
    headers = (("Content-Disposition", disposition),) if disposition else ()
    site.pages["/f"] = Answer(b"<html>x", mime=mime, headers=headers)
    fetched: Fetched = await fetch(world, Wanted(f"{site.url}/f"))
    assert content.kind(fetched.reply) == kind
    assert content.text(fetched.reply) == "<html>x"
