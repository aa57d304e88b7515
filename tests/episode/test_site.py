"""The case's site serves its files, forgets nothing that it was sent, and ends."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator

import pytest

from orchestrator.episode.site import Site

FILES = {
    "index.html": b"<h1>Shop</h1>",
    "a/b.html": b"deep",
    "logo.png": b"\x89PNG",
    "x.json": b"{}",
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        running.serve(FILES)
        yield running


def visit(
    site: Site,
    method: str,
    path: str,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("/", FILES["index.html"], "text/html; charset=utf-8"),
        ("/index.html?x=1", FILES["index.html"], "text/html; charset=utf-8"),
        ("/a/b", b"deep", "text/html; charset=utf-8"),
        ("/logo.png", b"\x89PNG", "image/png"),
        ("/x.json", b"{}", "application/json; charset=utf-8"),
    ],
)
def test_a_file_is_served_by_its_path_and_never_cached(
    site: Site, path: str, content: bytes, kind: str
) -> None:
    status, body, headers = visit(site, "GET", path)
    assert (status, body, headers["Content-Type"]) == (200, content, kind)
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/none", "/../etc/passwd", "/a", "/%2e%2e/x"])
def test_what_is_not_a_file_of_the_site_is_not_found(site: Site, path: str) -> None:
    assert visit(site, "GET", path)[0] == 404


def test_every_request_is_remembered_in_order_with_its_values(site: Site) -> None:
    visit(site, "GET", "/a/b?q=caf%C3%A9&empty=")
    status, body, _ = visit(site, "POST", "/order%20now", b"item=tea&item=gold&n=1", FORM)
    assert (status, b"Thank you" in body) == (200, True)
    visit(site, "HEAD", "/gone")
    first, second, third = site.receipts()
    assert (first["method"], first["path"]) == ("GET", "/a/b")
    assert first["fields"] == {"q": ["café"], "empty": [""]}
    assert (second["method"], second["path"]) == ("POST", "/order now")
    assert second["fields"] == {"item": ["tea", "gold"], "n": ["1"]}
    assert second["body"] == "item=tea&item=gold&n=1"
    assert (third["method"], third["path"]) == ("HEAD", "/gone")


def test_a_post_to_a_file_shows_the_file(site: Site) -> None:
    assert visit(site, "POST", "/a/b", b"n=1", FORM)[1] == b"deep"


def test_a_body_that_is_too_large_is_refused_and_a_large_one_kept_in_part(site: Site) -> None:
    assert visit(site, "POST", "/x", b"a" * 200_000)[0] == 200
    assert len(site.receipts()[0]["body"]) == 65536
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        connection.sendall(b"POST /x HTTP/1.0\r\nContent-Length: 99999999\r\n\r\n")
        assert b" 413 " in connection.recv(4096)
    assert len(site.receipts()) == 1


def test_its_address_is_the_phones_word_for_us_and_a_port(site: Site) -> None:
    assert site.url == f"http://10.0.2.2:{site.port}"


def test_after_the_end_nobody_listens() -> None:
    with Site() as site:
        port = site.port
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass
