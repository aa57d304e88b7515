"""What is a reply: a page, words, a picture or a file to download, and in which letters?"""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from .http import Reply

PAGES = ("text/html", "application/xhtml+xml")
WORDS = ("application/json", "application/javascript", "application/xml")
META_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_-]{1,40})", re.IGNORECASE
)
DISPOSITION_NAME = re.compile(r'filename\s*=\s*(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)
DISPOSITION_ENCODED = re.compile(
    r"filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']*'([^;\s]+)", re.IGNORECASE
)
# Codecs that read bytes as letters in one pass; a page may not choose from all that Python has.
CHARSETS = {
    "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "cp1252", "ascii": "cp1252",
    "iso-8859-1": "cp1252", "latin1": "cp1252", "windows-1252": "cp1252",
    "iso-8859-2": "iso8859-2", "iso-8859-15": "iso8859-15", "windows-1250": "cp1250",
    "windows-1251": "cp1251", "koi8-r": "koi8-r", "shift_jis": "cp932", "euc-jp": "euc_jp",
    "gbk": "gb18030", "gb2312": "gb18030", "gb18030": "gb18030", "big5": "big5",
    "euc-kr": "cp949", "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
}  # fmt: skip


def mime(reply: Reply) -> str:
    return reply.header("content-type").partition(";")[0].strip().lower()


def kind(reply: Reply) -> str:
    """html | text | image | file"""
    if reply.header("content-disposition").strip().lower().startswith("attachment"):
        return "file"
    named = mime(reply)
    if named in PAGES:
        return "html"
    if named.startswith("image/"):
        return "image"
    if named in WORDS or named.endswith(("+json", "+xml")):
        return "text"
    if named.startswith("text/"):
        # A calendar or a contact is meant for an app, as Chrome has it.
        return "file" if named in ("text/calendar", "text/x-vcard", "text/vcard") else "text"
    return "file" if named else sniffed(reply.body)


def is_file(head: Reply) -> bool:
    """As far as a head without its body can tell."""
    return kind(head) == "file"


def sniffed(body: bytes) -> str:
    start = body[:512].lstrip().lower()
    if start.startswith(
        (b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<h1", b"<p")
    ):
        return "html"
    return "file" if b"\0" in body[:512] else "text"


def text(reply: Reply) -> str:
    """The body as letters; what cannot be read becomes U+FFFD."""
    named = re.search(
        r"charset\s*=\s*[\"']?\s*([\w-]{1,40})", reply.header("content-type"), re.IGNORECASE
    )
    inside = META_CHARSET.search(reply.body[:2048])
    wanted = named[1] if named else inside[1].decode() if inside else "utf-8"
    body = reply.body.removeprefix(b"\xef\xbb\xbf")
    return body.decode(CHARSETS.get(wanted.lower(), "utf-8"), "replace")


def file_name(reply: Reply, url: str) -> str:
    """What the server, or the address, calls the file; not yet safe for a disk."""
    disposition = reply.header("content-disposition")
    if encoded := DISPOSITION_ENCODED.search(disposition):
        return unquote(encoded[1], errors="replace")
    if plain := DISPOSITION_NAME.search(disposition):
        return plain[1] or plain[2] or "download"
    return unquote(urlsplit(url).path.rpartition("/")[2], errors="replace") or "download"
