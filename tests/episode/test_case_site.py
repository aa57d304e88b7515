"""The case's site serves its files, records every request, and ends."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator

import pytest

from orchestrator.cases.model import Response
from orchestrator.episode.case_site import NOT_FOUND, Site

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
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
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
    (first, second, third), forgotten = site.requests()
    assert forgotten == 0
    assert (first["method"], first["path"]) == ("GET", "/a/b")
    assert first["fields"] == {"q": ["café"], "empty": [""]}
    assert (second["method"], second["path"]) == ("POST", "/order now")
    assert second["fields"] == {"item": ["tea", "gold"], "n": ["1"]}
    assert second["body"] == "item=tea&item=gold&n=1"
    assert (third["method"], third["path"]) == ("HEAD", "/gone")


RESPONSES = [
    Response.model_validate(each)
    for each in (
        {"path": "/old", "status": 302, "headers": {"Location": "/a/b"}},
        {"path": "/save", "method": "POST", "body": '{"ok": true}',
         "headers": {"Content-Type": "application/json", "Set-Cookie": "seen=1"}},
        {"path": "/index.html", "status": 503, "body": "later"},
        {"path": "/caf\u00e9", "body": "caf\u00e9"},
    )
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "status", "body", "header"),
    [
        ("GET", "/old", 302, b"", ("Location", "/a/b")),
        (
            "POST",
            "/save",
            200,
            b'{"ok": true}',
            ("Content-Type", "application/json; charset=utf-8"),
        ),
        ("POST", "/save", 200, b'{"ok": true}', ("Set-Cookie", "seen=1")),
        ("GET", "/save", 404, NOT_FOUND, ("Content-Type", "text/html; charset=utf-8")),
        ("GET", "/index.html", 503, b"later", ("Content-Length", "5")),
        ("HEAD", "/index.html", 503, b"", ("Content-Length", "5")),
        ("GET", "/", 200, FILES["index.html"], ("Content-Type", "text/html; charset=utf-8")),
        ("GET", "/caf%C3%A9", 200, "café".encode(), ("Content-Type", "text/html; charset=utf-8")),
    ],
)
def test_what_a_case_scripts_is_answered_in_place_of_a_file_and_never_cached(
    site: Site, method: str, path: str, status: int, body: bytes, header: tuple[str, str]
) -> None:
    site.serve(FILES, RESPONSES)
    answered, sent, headers = visit(site, method, path)
    assert (answered, sent, headers[header[0]]) == (status, body, header[1])
    assert headers["Cache-Control"] == "no-store"
    (received,), _ = site.requests()
    assert received["method"] == method


def test_a_posted_document_is_kept_whole_and_all_of_them_within_bounds(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.episode.case_site.MOST_KEPT", 10)
    for body in (b'{"a": 1}', b'{"b": 2}', b"{}"):
        assert visit(site, "POST", "/save", body)[0] == 200
    kept, _ = site.requests()
    assert [(each["body"], each["body_cut"]) for each in kept] == [
        ('{"a": 1}', False), ("", True), ("{}", False),
    ]  # fmt: skip


def test_requests_beyond_what_is_kept_are_counted(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.episode.case_site.MOST_REQUESTS", 1)
    for path in ("/a/b", "/x.json", "/"):
        visit(site, "GET", path)
    kept, forgotten = site.requests()
    assert ([each["path"] for each in kept], forgotten) == (["/a/b"], 2)


def test_a_post_to_a_file_shows_the_file(site: Site) -> None:
    assert visit(site, "POST", "/a/b", b"n=1", FORM)[1] == b"deep"


def test_a_body_that_is_too_large_is_refused_and_still_remembered(site: Site) -> None:
    assert visit(site, "POST", "/x", b"a" * 200_000)[0] == 200
    with socket.create_connection(("127.0.0.1", site.port), timeout=60) as connection:
        connection.sendall(b"POST /x HTTP/1.0\r\nContent-Length: 99999999\r\n\r\n")
        assert b" 413 " in connection.recv(4096)
    (kept, refused), _ = site.requests()
    assert (len(kept["body"]), kept["body_cut"]) == (200_000, False)
    assert (refused["path"], refused["body"], refused["body_cut"]) == ("/x", "", True)


@pytest.mark.parametrize(
    "header", [b"Transfer-Encoding: chunked", b"Content-Length: " + b"9" * 5000]
)
def test_a_body_without_a_length_that_can_be_read_is_not_taken_for_an_empty_one(
    site: Site, header: bytes
) -> None:
    with socket.create_connection(("127.0.0.1", site.port), timeout=60) as connection:
        connection.sendall(b"POST /x HTTP/1.1\r\n" + header + b"\r\n\r\n")
        assert b" 413 " in connection.recv(4096)
    (refused,), _ = site.requests()
    assert refused["body_cut"]


def test_a_form_that_is_not_kept_has_no_fields(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a page that posts without end would fill our memory with them."""
    monkeypatch.setattr("orchestrator.episode.case_site.MOST_KEPT", 3)
    visit(site, "POST", "/x?q=1", b"item=tea", FORM)
    (sent,), _ = site.requests()
    assert (sent["fields"], sent["body_cut"]) == ({"q": ["1"]}, True)


def test_its_address_is_the_phones_word_for_us_and_a_port(site: Site) -> None:
    assert site.url == f"http://10.0.2.2:{site.port}"


def test_after_the_end_nobody_listens() -> None:
    with Site() as site:
        port = site.port
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass
